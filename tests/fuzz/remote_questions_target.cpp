// Questions that another machine asks a server of answers, over a small recording that sums itself up: whatever is asked, an answer or a
// refusal comes. (Queries in SQL have a target of their own.)
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/scratch_file.hpp"
#include "core/generate/generate.hpp"
#include "core/query/answers/answer_functions.hpp"
#include "core/query/elsewhere/question_desk.hpp"
#include "core/query/elsewhere/questions.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::remote_questions {
namespace {

/// The recording that is asked about: two processes, and sections of which a view needs several.
std::shared_ptr<trace::file> recording() {
  const auto folder = scratch_folder::make().value();
  const std::string plain = folder.path() + "/plain.sluice";
  const std::string made = folder.path() + "/made.sluice";
  generate::generate_options options;
  options.events = 3'000;
  options.processes = 2;
  if (!generate::generate(options, plain)) return nullptr;
  const auto from = trace::file::open(plain).value()->latest();
  auto to = trace::file_writer::create(made).value();
#define SLUICE_COPY(row, kind) \
  if (!from->for_each<trace::row>([&](const trace::row& each) { to.add(each); })) return nullptr;
  SLUICE_FOR_EACH_ROW(SLUICE_COPY)
#undef SLUICE_COPY
  analysis::finalize_options summing_up;
  summing_up.least_events = 1;
  summing_up.section_events = 500;
  if (!analysis::finalize(to, summing_up)) return nullptr;
  return trace::file::open(made).value();  // It stays open when the folder goes.
}

query::engine& asked() {
  static query::engine engine(recording(), {.threads = 1, .wake = {}, .elsewhere = {}});
  return engine;
}

void run(std::span<const std::uint8_t> input) {
  constexpr std::uint16_t number_of_sql = 0xffff;
  std::uint16_t number = 0;
  if (input.size() < sizeof number) return;
  std::memcpy(&number, input.data(), sizeof number);
  query::question_desk desk(asked());
  if (number == number_of_sql || !desk.ask(1, std::as_bytes(input))) return;
  for (bool answered = false; !answered;) {
    const auto next = desk.next();
    answered = next && next->last;
    if (!next) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

template <class Question>
void add(std::vector<bytes>& to, const Question& question) {
  const std::vector<std::byte> encoded = query::encode_question(question);
  const auto* first = reinterpret_cast<const std::uint8_t*>(encoded.data());
  to.emplace_back(first, first + encoded.size());
}

query::blocks_question blocks_in(query::time_range range) {
  query::blocks_question made;
  made.range = range;
  return made;
}

/// One of each type, and of each kind of track.
std::vector<bytes> seeds() {
  std::vector<bytes> made;
  const auto tracks = asked().ask_now(query::tracks_question{});
  if (!tracks) return {};
  const query::time_range all = (*tracks)->span;
  const auto blocks = asked().ask_now(blocks_in(all));
  if (!blocks || (*blocks)->rows.empty()) return {};
  const auto& block = (*blocks)->rows.front();
  add(made, query::tracks_question{});
  for (const query::track& each : (*tracks)->tracks) {
    if (asked().ask_now(query::series_question{each.id, all, 50})) {
      add(made, query::series_question{each.id, all, 50, true});
    } else {
      add(made, query::slices_question{each.id, all, 50});
    }
  }
  query::blocks_question with_uses = blocks_in(all);
  with_uses.with_uses = true;
  with_uses.filter = "a";
  add(made, with_uses);
  add(made, query::statistics_question{all});
  add(made, query::report_question{});
  add(made, query::details_question{.event = block.alloc});
  add(made, query::details_question{.block = block.block});
  add(made, query::stacks_question{.range = all});
  add(made, query::messages_question{});
  add(made, query::search_question{"gemm"});
  add(made, query::memory_map_question{.time = block.born, .width = 50, .lone = true, .marks = {block.block}});
  add(made, query::memory_step_question{.time = block.born});
  add(made, query::what_if_question{});
  add(made, query::transfers_question{all});
  add(made, query::idle_gaps_question{all});
  add(made, query::ranks_question{{{trace::process_id{1}, {}}}, all, 50});
  add(made, query::memory_groups_question{.range = all, .width = 50, .device = block.device, .kind = block.kind});
  add(made, query::compared_side_question{all});
  add(made, query::generations_question{.marks = {block.born}, .at = all.end});
  add(made, query::holes_question{.range = all, .samples = 10});
  add(made, query::durations_question{.range = all});
  add(made, query::step_statistics_question{});
  return made;
}

}  // namespace
}  // namespace sluice::fuzz::remote_questions

sluice::fuzz::target sluice::fuzz::remote_questions_target() {
  return {"remote_questions", remote_questions::run, remote_questions::seeds};
}
