// Answers and outlines that another machine sends.
#include <zstd.h>

#include <cstring>

#include "core/query/answers/answer_functions.hpp"
#include "core/query/elsewhere/questions.hpp"
#include "core/query/elsewhere/wire.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::remote_answers {
namespace {

/// As a peer sends it: the size, then compressed.
std::vector<std::byte> sent(std::span<const std::uint8_t> plain) {
  const std::uint64_t size = plain.size();
  std::vector<std::byte> made(sizeof size + ZSTD_compressBound(plain.size()));
  std::memcpy(made.data(), &size, sizeof size);
  const std::size_t used =
      ZSTD_compress(made.data() + sizeof size, made.size() - sizeof size, plain.data(), plain.size(), 1);
  made.resize(sizeof size + used);
  return made;
}

/// The first byte says what the others are.
void run(std::span<const std::uint8_t> input) {
  if (input.empty()) return;
  const unsigned kind = input[0];
  const auto bytes = sent(input.subspan(1));
  unsigned number = 0;
#define SLUICE_QUESTION(Q)                       \
  if (kind == number++) {                        \
    (void)query::decode_answer<query::Q>(bytes); \
  }
  SLUICE_FOR_EACH_QUESTION(SLUICE_QUESTION)
#undef SLUICE_QUESTION
  if (kind == number++) (void)query::decode_outline(bytes, "ssh://host/a");
  if (kind == number++) (void)query::decode_sql_rows(bytes);
  if (kind == number++) (void)query::decode_outline(std::as_bytes(input.subspan(1)), "ssh://host/a");
}

template <class Answer>
bytes seed_of(std::uint8_t kind, const Answer& answer) {
  std::vector<std::byte> plain;
  query::wire::writer(plain).put(answer);
  bytes made{kind};
  for (const std::byte each : plain) made.push_back(static_cast<std::uint8_t>(each));
  return made;
}

std::vector<bytes> seeds() {
  std::vector<bytes> made;
  query::series curves;
  curves.bands.resize(2);
  curves.bands[0].bins.resize(5);
  curves.bands[1].label = "used";
  made.push_back(seed_of(2, curves));
  query::block_table blocks;
  blocks.rows.resize(2);
  blocks.names = {"train.py:1"};
  blocks.asked_by = {0, 0};
  made.push_back(seed_of(3, blocks));
  analysis::report report;
  report.peaks.resize(1);
  made.push_back(seed_of(5, report));
  query::stack_view stacks;
  stacks.tree.nodes.resize(2);
  stacks.tree.nodes[0].end = stacks.tree.nodes[1].end = 2;
  stacks.tree.nodes[1].depth = 1;
  stacks.ids = {1, 2};
  stacks.lines.resize(1);
  made.push_back(seed_of(7, stacks));
  query::step_statistics steps;
  steps.steps.resize(3);
  steps.figures.resize(1);
  steps.figures[0].values = {1, 2, 3};
  steps.figures[0].outliers = {2};
  made.push_back(seed_of(22, steps));
  return made;
}

}  // namespace
}  // namespace sluice::fuzz::remote_answers

sluice::fuzz::target sluice::fuzz::remote_answers_target() {
  return {"remote_answers", remote_answers::run, remote_answers::seeds};
}
