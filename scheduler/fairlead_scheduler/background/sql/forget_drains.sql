-- forget_drains: delete drain marks of pods that lapsed an hour ago and were not renewed since. Returns their pods.
-- locks: the leader's row (for key share), pod_drains rows (skip locked): a login may hold one for ever.
-- index: leaders_pkey, inside the function; pod_drains is read whole: it has a row for each pod that went lately.
select f.pod_uid from fairlead._forget_drains(%(epoch)s) f (pod_uid)
