// Runs texts as SQL over a small recording. Queries can only read, use bounded memory, and stop when interrupted.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "core/base/files/scratch_file.hpp"
#include "core/query/sql/sql.hpp"
#include "core/query/sql/sql_text.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/trace/random_rows.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::sql_text {
namespace {

constexpr int max_rows = 200;
constexpr std::chrono::milliseconds max_time(100);  // Per query; a query may run forever.

/// Interrupts queries that take too long.
class alarm_clock {
 public:
  alarm_clock() : thread_([this] { watch(); }) { thread_.detach(); }
  [[nodiscard]] const std::atomic<bool>* rung() const { return &rung_; }
  void set() {
    rung_ = false;
    end_ = (std::chrono::steady_clock::now() + max_time).time_since_epoch().count();
  }

 private:
  void watch() {
    for (;;) {
      std::this_thread::sleep_for(max_time / 4);
      if (std::chrono::steady_clock::now().time_since_epoch().count() > end_) rung_ = true;
    }
  }
  std::atomic<bool> rung_{false};
  std::atomic<std::chrono::steady_clock::rep> end_{INT64_MAX};
  std::thread thread_;
};

alarm_clock& clock_of_queries() {
  static auto* const clock = new alarm_clock;  // Never destroyed, because its thread runs until the process exits.
  return *clock;
}

std::shared_ptr<const trace::snapshot> small_recording() {
  static const auto kept = [] {
    const auto place = scratch_file::make().value();
    auto output = trace::file_writer::create(place).value();
    std::mt19937_64 random(5);
#define SLUICE_ADD(row, kind) \
  for (int i = 0; i < 4; ++i) output.add(trace::testing::random_row<trace::row>(random));
    SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
    if (!output.close()) __builtin_trap();
    return trace::file::open(place.path()).value()->latest();
  }();
  return kept;
}

void run(std::span<const std::uint8_t> input) {
  query::sql_options options;
  options.lookup_bytes = std::size_t{1} << 20;
  options.value_bytes = std::size_t{1} << 20;
  options.memory_bytes = std::size_t{64} << 20;
  options.scratch_bytes = std::size_t{16} << 20;
  options.cancelled = clock_of_queries().rung();
  static const auto database = query::sql_database::open(small_recording(), options).value();
  clock_of_queries().set();
  auto asked = database->prepare({reinterpret_cast<const char*>(input.data()), input.size()});
  if (!asked) return;
  query::sql_writer writer(query::sql_format::json, asked->columns());
  std::string text;
  for (int row = 0; row < max_rows; ++row) {
    const auto more = asked->step();
    if (!more || !*more) break;
    writer.row(*asked, text);
  }
  writer.end(text);
}

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  for (const std::string_view text : {
           "SELECT * FROM alloc WHERE time BETWEEN 1 AND 1e18 ORDER BY bytes DESC LIMIT 3",
           "SELECT name, count(*) AS n, sum(bytes) FROM allocations GROUP BY name HAVING n > 0",
           "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 9) SELECT n, zeroblob(n), hex(n) FROM "
           "c",
           "SELECT k.name, t.bytes FROM kernels k JOIN transfers t ON k.stream = t.stream WHERE k.id = 3 OR t.id IN "
           "(1, 2)",
           "SELECT readable_name(function), call_stack(id) FROM frame, stack",
           "SELECT group_concat(text), printf('%s', json(1)) FROM message",
           "PRAGMA table_info(alloc)",
           "ATTACH 'x' AS y",
           "SELECT load_extension('x')",
           "SELECT * FROM memory_use, device_use, finding",
       }) {
    items.emplace_back(text.begin(), text.end());
  }
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::sql_text

sluice::fuzz::target sluice::fuzz::sql_text_target() { return {"sql_text", sql_text::run, sql_text::seeds}; }
