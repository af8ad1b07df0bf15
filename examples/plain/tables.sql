-- What the handler `book` writes to.
create table if not exists bookings (
    job_id  bigint  not null,
    account text    not null,
    cents   integer not null
);
