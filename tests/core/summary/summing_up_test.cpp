// A summary that is built while a recording is written equals a summary that is built from the whole recording at its
// end.
#include "core/summary/passes/summing_up.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/summary/passes/planned_sections.hpp"
#include "core/summary/passes/reordered_copy.hpp"
#include "core/summary/tiles/stored_tiles.hpp"
#include "tests/core/recordings/growing_program.hpp"
#include "tests/core/recordings/row_in_words.hpp"
#include "tests/core/summary/same_stored_metrics.hpp"

namespace sluice::summary {
namespace {

using generate::generate_options;
using testing::growing_program;

constexpr int parts_of_program = 24, last_part = parts_of_program - 1;
const std::function<bool()> to_the_end = [] { return true; };

/// A program whose recording is sorted while it is written.
class followed {
 public:
  template <class How>
  explicit followed(const How& options)
      : of_(options), copy_(reordered_copy::beside(of_.recorded.writer(), 800).value()) {}

  [[nodiscard]] bool ended() const { return of_.ended(); }
  /// Writes a part of the program and summarizes finished sections as long as `wanted` returns true.
  void go_on(const std::function<bool()>& wanted) {
    of_.write(1.0 / parts_of_program);
    if (!file_) file_ = of_.recorded.open();
    ASSERT_TRUE(file_->refresh());
    const auto now = file_->latest();
    const time_ns over = newest_begin(now->chunks()) - of_.whole().length() / 100;
    ASSERT_TRUE(copy_->grow(now, over, to_the_end));
    if (wanted()) copy_->sum_up_so_far(wanted);
  }
  /// Writes and summarizes the rest of the program.
  void end() {
    ASSERT_TRUE(copy_->complete(*of_.recorded.open()->latest(), to_the_end));
    ASSERT_TRUE(copy_->snapshot());
    ASSERT_TRUE(copy_->is_scanned());
    ASSERT_TRUE(copy_->sums().end(copy_->file(), copy_->sections(), {}));
  }
  /// The number of sections that were summarized before the end, or after it if the early summary proved right.
  [[nodiscard]] std::size_t early() const { return copy_->sums().settled(); }
  [[nodiscard]] std::shared_ptr<const trace::snapshot> summary() { return copy_->snapshot().value(); }
  [[nodiscard]] time_range whole() const { return of_.whole(); }
  [[nodiscard]] trace::file_writer& writer() { return of_.recorded.writer(); }
  /// The id of the first allocation.
  [[nodiscard]] trace::event_id early_block() const {
    trace::event_id first{UINT64_MAX};
    EXPECT_TRUE(
        file_->latest()->for_each<trace::alloc_event>([&](const auto& row) { first = std::min(first, row.id); }));
    return first;
  }

 private:
  growing_program of_;
  std::unique_ptr<reordered_copy> copy_;
  std::shared_ptr<trace::file> file_;
};

/// The rows of one type in a summary, sorted.
template <class Row>
std::vector<std::string> get_rows(const trace::snapshot& recording) {
  std::vector<std::string> strings;
  std::vector<Row> rows;
  recording.for_each_summary(trace::type_of_row<Row>, [&](const trace::chunk_info& chunk) {
    EXPECT_TRUE(recording.read_summary(chunk, rows));
    for (const Row& row : rows) strings.push_back(testing::in_words(row));
  });
  std::sort(strings.begin(), strings.end());
  return strings;
}

/// Expects the same curves and slices in both recordings, at several zooms. The curves may be numbered differently.
void expect_same_tiles(const std::shared_ptr<const trace::snapshot>& early,
                       const std::shared_ptr<const trace::snapshot>& late) {
  const auto a = stored_tiles::of(early), b = stored_tiles::of(late);
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->curves().size(), b->curves().size());
  std::vector<std::uint32_t> in_a, in_b;
  for (const trace::curve_row& row : b->curves())
    for (const trace::curve_row& other : a->curves())
      if (index::same_curve(row, other)) {
        in_a.push_back(other.curve);
        in_b.push_back(row.curve);
        EXPECT_EQ(other.maximum, row.maximum);
      }
  ASSERT_EQ(in_a.size(), b->curves().size());
  const time_range whole = index::recorded_range(*late);
  for (const time_ns parts : {1, 3, 9, 30}) {
    for (const time_ns part : {parts / 3, parts - 1}) {
      const time_range shown{whole.begin + whole.length() * part / parts,
                             whole.begin + whole.length() * (part + 1) / parts};
      const bin_grid grid = b->grid_over(shown, 100);
      auto detail = bin_detail::exact, detail_b = detail;
      const auto of_a = a->sample(in_a, grid, {}, detail), of_b = b->sample(in_b, grid, {}, detail_b);
      ASSERT_TRUE(of_a && of_b);
      ASSERT_EQ(detail, detail_b);
      for (std::size_t c = 0; c < in_a.size(); ++c)
        for (std::size_t i = 0; i < grid.count; ++i) {
          ASSERT_EQ((*of_a)[c][i].minimum, (*of_b)[c][i].minimum)
              << "curve " << c << " bin " << i << " part " << part << " of " << parts;
          ASSERT_EQ((*of_a)[c][i].maximum, (*of_b)[c][i].maximum)
              << "curve " << c << " bin " << i << " part " << part << " of " << parts;
        }
    }
  }
}

/// Lanes may have different numbers, means different last digits, and facts a different order, so only the number of
/// rows is compared.
template <class Row>
constexpr bool is_the_same = !std::is_same_v<Row, trace::curve_row> && !std::is_same_v<Row, trace::lane_row> &&
                             !std::is_same_v<Row, trace::open_slice_row> && !std::is_same_v<Row, trace::saved_row>;

template <class Row>
void expect_same_rows(const trace::snapshot& early, const trace::snapshot& late) {
  if constexpr (!trace::is_of_tile(trace::type_of_row<Row>)) {
    const auto a = get_rows<Row>(early), b = get_rows<Row>(late);
    EXPECT_EQ(a.size(), b.size()) << static_cast<int>(trace::type_of_row<Row>);
    EXPECT_TRUE(!is_the_same<Row> || a == b) << static_cast<int>(trace::type_of_row<Row>);
  }
}

void expect_same_summaries(const std::shared_ptr<const trace::snapshot>& early,
                           const std::shared_ptr<const trace::snapshot>& late) {
#define SLUICE_COMPARE(row, kind) expect_same_rows<trace::row>(*early, *late);
  SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_COMPARE)
#undef SLUICE_COMPARE
  expect_same_tiles(early, late);
  ASSERT_NE(find_stored_metrics(*late), nullptr);
  ASSERT_NE(find_stored_metrics(*early), nullptr);
  expect_same_values(*find_stored_metrics(*early), *find_stored_metrics(*late));
}

/// Summarizes one program twice: only at its end, and early, except for its first parts. `at_part` may change both
/// recordings. Returns the number of sections that were summarized early and used.
template <class How>
std::size_t expect_early_as_late(
    const How& options, const std::function<bool()>& wanted = to_the_end,
    const std::function<void(int part, followed& one)>& at_part = [](int, followed&) {}) {
  constexpr int first_parts = 5;
  const std::function<bool()> never = [] { return false; };
  followed early(options), late(options);
  for (int part = 0; !early.ended(); ++part) {
    at_part(part, early);
    at_part(part, late);
    early.go_on(part < first_parts ? never : wanted);
    late.go_on(never);
  }
  early.end();
  late.end();
  EXPECT_EQ(late.early(), 0U);
  expect_same_summaries(early.summary(), late.summary());
  return early.early();
}

class a_program_that_is_summed_up_early : public ::testing::TestWithParam<generate_options> {};

TEST_P(a_program_that_is_summed_up_early, has_the_summary_that_is_made_at_its_end) {
  EXPECT_GT(expect_early_as_late(GetParam()), 20U);
}

INSTANTIATE_TEST_SUITE_P(
    programs, a_program_that_is_summed_up_early,
    ::testing::Values(generate_options{.events = 60'000, .seed = 1},
                      generate_options{.events = 60'000, .seed = 2, .timeline = false},
                      generate_options{.events = 60'000, .seed = 3, .processes = 2},
                      generate_options{.events = 60'000, .seed = 4, .pattern = generate::program_pattern::inference}));

class a_recording_that_is_summed_up_early : public ::testing::TestWithParam<const char*> {};

TEST_P(a_recording_that_is_summed_up_early, has_the_summary_that_is_made_at_its_end) {
  const std::string path = std::string(SLUICE_SOURCE_DIR "/tests/data/trainings/") + GetParam() + ".sluice";
  static_cast<void>(expect_early_as_late(path.c_str()));
}

INSTANTIATE_TEST_SUITE_P(recordings, a_recording_that_is_summed_up_early,
                         ::testing::Values("accelerate_loop", "accumulation", "burst", "compiled", "cupy_loop", "ddp",
                                           "evaluation", "fsdp2", "graphed", "jax_loop", "kept_gradients",
                                           "lightning_fit", "lora", "plain_cuda", "server", "torchvision_loop",
                                           "trainer", "trainer_accumulation"),
                         [](const auto& each) { return std::string(each.param); });

TEST(summing_up_early, goes_on_where_it_was_stopped) {
  std::mt19937_64 random(1);
  EXPECT_GT(expect_early_as_late(generate_options{.events = 60'000, .seed = 5}, [&] { return random() % 10 != 0; }),
            20U);
}

/// Adds a range that took a third of the program; its row is written when it ends.
void add_long_range(int part, followed& subject) {
  if (part != last_part) return;
  trace::host_range_event late;
  late.time = subject.whole().begin + subject.whole().length() / 8;
  late.end = subject.whole().begin + subject.whole().length() / 2;
  late.process = trace::process_id{1};
  late.thread = trace::thread_id{1};
  late.name = trace::string_id{1};
  subject.writer().add(late);
}

TEST(summing_up_early, is_of_no_use_if_rows_come_late) {
  EXPECT_EQ(expect_early_as_late(generate_options{.events = 60'000, .seed = 6}, to_the_end, add_long_range), 0U);
}

/// Adds the category of an early block long after it was freed.
TEST(summing_up_early, is_of_no_use_if_blocks_are_tagged_late) {
  const auto tag = [](int part, followed& subject) {
    if (part != last_part) return;
    trace::attribute_event late;
    late.target = subject.early_block();
    late.key = subject.writer().intern("category");
    late.text = subject.writer().intern("input");
    subject.writer().add(late);
  };
  EXPECT_EQ(expect_early_as_late(generate_options{.events = 60'000, .seed = 7}, to_the_end, tag), 0U);
}

}  // namespace
}  // namespace sluice::summary
