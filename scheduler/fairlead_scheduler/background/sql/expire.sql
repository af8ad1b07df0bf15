-- expire: end jobs that expired from %(from_us)s on before they started; returns how many, or %(limit)s where some
--         are left, and the database's time.
-- locks: see fairlead._expire.
-- index: see fairlead._expire.
select (extract(epoch from now()) * 1e6)::bigint as now_us,
       fairlead._expire(%(epoch)s, fairlead._scan_from(%(from_us)s), %(limit)s) as ended
