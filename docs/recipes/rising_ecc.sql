-- Devices that correct many more memory errors than in the week before, or have uncorrected ones.
WITH by_day AS (
    SELECT cluster, host, device, date,
           sum(coalesce(mem_ecc_corrected, 0) + coalesce(sram_ecc_corrected, 0)) AS corrected,
           sum(coalesce(mem_ecc_uncorrected, 0) + coalesce(sram_ecc_uncorrected, 0)
               + coalesce(mem_ecc_repairable_uncorrected, 0)) AS uncorrected
      FROM device_hour GROUP BY cluster, host, device, date
), compared AS (
    SELECT cluster, host, device, date, corrected, uncorrected,
           avg(corrected) OVER (PARTITION BY cluster, host, device ORDER BY date
                                ROWS BETWEEN 7 PRECEDING AND 1 PRECEDING) AS week_before
      FROM by_day
)
SELECT cluster, host, device, date, corrected, round(week_before, 1) AS week_before, uncorrected
  FROM compared
 WHERE uncorrected > 0 OR (corrected > 10 AND corrected > 2 * week_before)
 ORDER BY uncorrected DESC, corrected DESC, cluster, host, device, date;
