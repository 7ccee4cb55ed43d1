// sluice query: runs an SQL query on a recording.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/options/number_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "core/query/sql/sql.hpp"
#include "core/query/sql/sql_text.hpp"

namespace sluice::cli {
namespace {

struct query_options {
  std::string file;
  std::string text;
  std::string format = "table";
  std::optional<double> timeout;  ///< In seconds.
  bool schema = false;
  std::vector<std::string> sources_from;
};

using clock = std::chrono::steady_clock;

/// Ends the program one second after the deadline. Normally a query stops itself when SQLite or a table checks the
/// time, but during a slow SQL function, or if the reader does not accept the output, nothing checks the time.
class last_resort {
 public:
  explicit last_resort(clock::time_point deadline)
      : waits_([this, deadline](const std::stop_token& over) {
          constexpr auto grace = std::chrono::seconds(1);
          std::unique_lock lock(mutex_);
          if (ended_.wait_until(lock, over, deadline + grace, [&] { return over.stop_requested(); })) return;
          if (over.stop_requested()) return;
          complain("the query exceeded its time limit and could not be interrupted");
          ::_exit(status_failed);
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread waits_;
};

bool put(std::string& text) {
  const bool done = print_document(text);
  text.clear();
  return done;
}

int fail_with(const error& why, std::optional<clock::time_point> deadline = {}) {
  complain(why.to_string());
  const bool late = why.code == error_code::cancelled && deadline && clock::now() >= *deadline;
  return late ? status_failed : get_status(why);
}

int print(query::sql_statement& rows, query::sql_format as, std::optional<clock::time_point> deadline) {
  constexpr std::size_t enough = 1 << 16;
  query::sql_writer writer(as, rows.columns());
  std::string text;
  for (;;) {
    const auto more = rows.step();
    if (!more) {
      std::fflush(stdout);
      return fail_with(more.error(), deadline);
    }
    if (!*more) break;
    writer.row(rows, text);
    if (text.size() >= enough && !put(text)) break;
  }
  writer.end(text);
  return print_output(text, true, "result") ? 0 : status_failed;
}

int ask(const query_options& wanted) {
  if (wanted.schema) {
    std::fputs(query::sql_schema_text().c_str(), stdout);
    return 0;
  }
  if (wanted.file.empty() || wanted.text.empty()) {
    complain("query: expected a recording and a SELECT statement; see sluice query --help");
    return status_usage;
  }
  const std::string text = wanted.text == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : wanted.text;
  const auto opened = open_recording(wanted.file, wanted_of_recording::rows, &wanted.sources_from);
  if (!opened) return fail_with(opened.error());
  // A signal ends the query instead of the program, so that the rows found so far are still written.
  const long_work by_user({});
  query::sql_options options;
  options.cancelled = &long_work::cancelled();
  std::optional<last_resort> by_time;
  if (wanted.timeout) {
    options.deadline =
        clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(*wanted.timeout));
    by_time.emplace(*options.deadline);
  }
  auto asked = query::sql_database::open((*opened)->latest(), options);
  if (!asked) return fail_with(asked.error());
  auto rows = (*asked)->prepare(text);
  if (!rows) return fail_with(rows.error(), options.deadline);
  const auto as = wanted.format == "csv"    ? query::sql_format::csv
                  : wanted.format == "json" ? query::sql_format::json
                                            : query::sql_format::table;
  return print(*rows, as, options.deadline);
}

}  // namespace

action declare_query(CLI::App& command) {
  auto wanted = std::make_shared<query_options>();
  command.add_option("FILE", wanted->file, "Recording to query")->type_name("");
  command.add_option("SQL", wanted->text, "SELECT statement; - reads it from standard input")->type_name("");
  choose(command.add_option("--format", wanted->format, "Output format"), "table|csv|json")->capture_default_str();
  add_sources_option(command, wanted->sources_from);
  command.add_option("--timeout", wanted->timeout, "Stop the query after this many seconds (default: no limit)")
      ->check(number_between(0.001, 1e9))
      ->type_name("SECONDS");
  command.add_flag("--schema", wanted->schema, "List tables and columns");
  return [wanted] { return ask(*wanted); };
}

}  // namespace sluice::cli
