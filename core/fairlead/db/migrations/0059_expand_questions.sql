-- Whoever asks the leader locks nothing of it. explain() deleted old questions, unanswered ones too, and kept them
-- locked to the end of the caller's transaction: the leader waited for it with its answers, and lost its term. It
-- forgets them itself now. And one login's questions no longer wait before everybody's: a hundred at a time.

alter table fairlead.explain_requests add column login name;
comment on column fairlead.explain_requests.login is 'Who asked.';
create index explain_requests_login on fairlead.explain_requests (login, id) where answered_at is null;
