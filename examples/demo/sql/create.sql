-- create: the demo application's own tables, made anew for every run.
-- locks: none that matter, no other session is here yet.
-- index: none
drop schema if exists demo cascade;
create schema demo;
create table demo.enqueued (id bigint primary key, class text not null);
create table demo.measurements (
    job_id    bigint not null,
    package   text   not null,
    path      text   not null,
    lines     bigint not null,
    functions bigint,
    classes   bigint,
    nodes     bigint,
    problem   text,
    ended_at  timestamptz not null default clock_timestamp()
);
create table demo.roll_ups (
    package text primary key, files bigint not null, lines bigint, runs integer not null default 1
)
