-- workers: the live ones, what they run and how much they have done.
-- locks: none
-- index: none, there are few
select w.name, w.state, w.slots, w.running, w.id
from fairlead.workers w where w.state <> 'dead' order by w.name, w.id
