// Reads results and outlines that another machine sends.
#include <zstd.h>

#include <cstring>

#include "core/query/elsewhere/queries.hpp"
#include "core/query/elsewhere/wire.hpp"
#include "core/query/results/result_functions.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::remote_results {
namespace {

/// Packs `plain` as a peer sends it: first the size, then the compressed data.
std::vector<std::byte> sent(std::span<const std::uint8_t> plain) {
  const std::uint64_t size = plain.size();
  std::vector<std::byte> bytes(sizeof size + ZSTD_compressBound(plain.size()));
  std::memcpy(bytes.data(), &size, sizeof size);
  const std::size_t used =
      ZSTD_compress(bytes.data() + sizeof size, bytes.size() - sizeof size, plain.data(), plain.size(), 1);
  bytes.resize(sizeof size + used);
  return bytes;
}

/// The first byte selects how the remaining bytes are read.
void run(std::span<const std::uint8_t> input) {
  if (input.empty()) return;
  const unsigned kind = input[0];
  const auto bytes = sent(input.subspan(1));
  unsigned number = 0;
#define SLUICE_QUERY(Q)                          \
  if (kind == number++) {                        \
    (void)query::decode_result<query::Q>(bytes); \
  }
  SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY
  if (kind == number++) (void)query::decode_outline(bytes, "ssh://host/a");
  if (kind == number++) (void)query::decode_sql_rows(bytes);
  if (kind == number++) (void)query::decode_outline(std::as_bytes(input.subspan(1)), "ssh://host/a");
}

template <class Result>
bytes make_seed(std::uint8_t kind, const Result& result) {
  std::vector<std::byte> plain;
  query::wire::writer(plain).put(result);
  bytes output{kind};
  for (const std::byte each : plain) output.push_back(static_cast<std::uint8_t>(each));
  return output;
}

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  query::series curves;
  curves.bands.resize(2);
  curves.bands[0].bins.resize(5);
  curves.bands[1].label = "used";
  items.push_back(make_seed(2, curves));
  query::block_table blocks;
  blocks.rows.resize(2);
  blocks.names = {"train.py:1"};
  blocks.asked_by = {0, 0};
  items.push_back(make_seed(3, blocks));
  metrics::report report;
  report.peaks.resize(1);
  items.push_back(make_seed(5, report));
  query::stack_view stacks;
  stacks.tree.nodes.resize(2);
  stacks.tree.nodes[0].end = stacks.tree.nodes[1].end = 2;
  stacks.tree.nodes[1].depth = 1;
  stacks.ids = {1, 2};
  stacks.lines.resize(1);
  items.push_back(make_seed(7, stacks));
  query::step_statistics steps;
  steps.steps.resize(3);
  steps.metrics.resize(1);
  steps.metrics[0].values = {1, 2, 3};
  steps.metrics[0].outliers = {2};
  items.push_back(make_seed(22, steps));
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::remote_results

sluice::fuzz::target sluice::fuzz::remote_results_target() {
  return {"remote_results", remote_results::run, remote_results::seeds};
}
