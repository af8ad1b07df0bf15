-- The report generator's own tables. A report has the id of the job that builds it.
CREATE TABLE IF NOT EXISTS sales (
    customer text    NOT NULL,
    shop     text    NOT NULL,
    day      date    NOT NULL,
    cents    integer NOT NULL
);
CREATE TABLE IF NOT EXISTS reports (
    id       bigint PRIMARY KEY,
    customer text   NOT NULL,
    month    date   NOT NULL,
    content  text,
    done     real,
    error    text
);
CREATE INDEX IF NOT EXISTS reports_of_customer ON reports (customer, id);
