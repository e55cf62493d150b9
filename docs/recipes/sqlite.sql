-- The tables of the recipes as views of the database of one agent: sqlite3 -readonly neuron.db, then .read this file.
CREATE TEMP VIEW place AS SELECT 'default' AS cluster, host_name AS host FROM main.machine
 WHERE since_ns = (SELECT max(since_ns) FROM main.machine);
CREATE TEMP VIEW machine_hour AS SELECT cluster, host, date((time_ns - 1) / 1000000000, 'unixepoch') AS date,
       time_ns AS time, h.* FROM main.machine_hour h, place;
CREATE TEMP VIEW device_hour AS SELECT cluster, host, date((time_ns - 1) / 1000000000, 'unixepoch') AS date,
       time_ns AS time, h.* FROM main.device_hour h, place;
CREATE TEMP VIEW core_hour AS SELECT cluster, host, date((time_ns - 1) / 1000000000, 'unixepoch') AS date,
       time_ns AS time, h.*, process_id AS process, tag, pid
  FROM main.core_hour h JOIN main.process USING (process_id), place;
CREATE TEMP VIEW model_hour AS SELECT cluster, host, date((time_ns - 1) / 1000000000, 'unixepoch') AS date,
       time_ns AS time, h.*, process_id AS process, m.name AS model
  FROM main.model_hour h JOIN main.model m USING (process_id, model_id), place;
CREATE TEMP VIEW process AS SELECT cluster, host, p.process_id AS process, p.* FROM main.process p, place;
CREATE TEMP VIEW job AS SELECT p.cluster, host, j.job_id, j.name, c.core, c.time_ns AS began, c.to_ns AS ended
  FROM main.job_core c JOIN main.job j USING (job_key), place p;
CREATE TEMP VIEW machine AS SELECT cluster, host, d.date, m.*
  FROM (SELECT date, max(time_ns) AS last_ns FROM temp.machine_hour GROUP BY date) d, place
  JOIN main.machine m ON m.since_ns = (SELECT max(since_ns) FROM main.machine WHERE since_ns <= d.last_ns);
