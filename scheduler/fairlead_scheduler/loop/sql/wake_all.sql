-- wake_all: notify all workers that there is work; answers whether the server's queue of notifications had room for it.
-- locks: none.
-- index: none.
select fairlead._notify('fairlead_work', '')
