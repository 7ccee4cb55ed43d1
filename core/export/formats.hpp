#pragma once

#include "core/export/export.hpp"

/// The functions of the formats that export.cpp lists. Each format has its own file.
namespace sluice::exports {

/// csv.cpp: one table as a file, or all tables as files in a folder.
[[nodiscard]] output_shape shape_of_csv(const options& wanted);
[[nodiscard]] result<void> write_csv(job& export_job, output& to);

/// sqlite.cpp: the tables and views of core/query/sql/sql.hpp as a file.
[[nodiscard]] output_shape shape_of_sqlite(const options& wanted);
[[nodiscard]] result<void> write_sqlite(job& export_job, output& to);

/// folded.cpp: call stacks and their bytes, one per line.
[[nodiscard]] output_shape shape_of_folded(const options& wanted);
[[nodiscard]] result<void> write_folded(job& export_job, output& to);

/// torch_snapshot.cpp: a pickle like those that torch.cuda.memory._dump_snapshot writes. Holds all blocks in memory,
/// about 300 bytes each.
[[nodiscard]] output_shape shape_of_torch_snapshot(const options& wanted);
[[nodiscard]] result<void> write_torch_snapshot(job& export_job, output& to);

/// chrome.cpp: Chrome's trace format, plain or gzip.
[[nodiscard]] output_shape shape_of_chrome(const options& wanted);
[[nodiscard]] result<void> write_chrome(job& export_job, output& to);
[[nodiscard]] result<void> write_chrome_gz(job& export_job, output& to);

/// perfetto.cpp: Perfetto's protobuf format.
[[nodiscard]] output_shape shape_of_perfetto(const options& wanted);
[[nodiscard]] result<void> write_perfetto(job& export_job, output& to);

/// parquet/parquet.cpp: a data set of Parquet files, partitioned by run and rank.
[[nodiscard]] output_shape shape_of_parquet(const options& wanted);
[[nodiscard]] result<void> write_parquet(job& export_job, output& to);

}  // namespace sluice::exports
