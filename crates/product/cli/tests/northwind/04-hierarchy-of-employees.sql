-- Who reports to whom, down from the top.
WITH RECURSIVE chain AS (
    SELECT employee_id, last_name, first_name || ' ' || last_name AS name, reports_to, 0 AS level,
           last_name::text AS path
    FROM employees WHERE reports_to IS NULL
    UNION ALL
    SELECT e.employee_id, e.last_name, e.first_name || ' ' || e.last_name, e.reports_to, c.level + 1,
           c.path || ' > ' || e.last_name
    FROM employees e JOIN chain c ON e.reports_to = c.employee_id
)
SELECT repeat('  ', level) || name AS employee, level, path,
       (SELECT count(*) FROM employees x WHERE x.reports_to = chain.employee_id) AS direct_reports
FROM chain
ORDER BY path;
