-- expire: end jobs that expired from %(from_us)s on before they started; returns how many, and the database's
--         time.
-- locks: see fairlead._expire.
-- index: see fairlead._expire.
select (extract(epoch from now()) * 1e6)::bigint as now_us,
       fairlead._expire(%(epoch)s, to_timestamp(%(from_us)s / 1e6), %(limit)s) as ended
