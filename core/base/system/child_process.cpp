#include "core/base/system/child_process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <thread>

#include "core/base/format.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int first_other_file = 3;  ///< The lowest descriptor that is not a standard file.

/// Why a child could not run its program.
struct start_failure {
  int number = 0;          ///< The errno value.
  bool in_folder = false;  ///< The folder could not be entered. Otherwise the program could not be executed.
};

/// What a child needs until it runs its program. The child shares this process's memory and must not allocate any, so
/// all of it is made before.
struct start_plan {
  const child_options& options;
  bool detached;
  std::vector<char*> words, variables;
  std::array<unique_descriptor, 3> files;    ///< The child's standard files; none: inherited.
  unique_descriptor failed_here, failed_in;  ///< A pipe for a `start_failure`. The program does not inherit it.
};

/// Moves a descriptor out of the range of the standard files, where the child would overwrite it, or would not inherit
/// it.
unique_descriptor above_standard_files(unique_descriptor file) {
  if (!file || file.get() >= first_other_file) return file;
  return unique_descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, first_other_file));
}

result<void> make_pipe(unique_descriptor& read_end, unique_descriptor& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(error_code::unavailable, "cannot make a pipe: " + describe_errno(errno));
  read_end = above_standard_files(unique_descriptor(ends[0]));
  write_end = above_standard_files(unique_descriptor(ends[1]));
  return {};
}

/// Opens what the child has as its standard file `number`. `own_end`: this process's end, if it is a pipe.
result<unique_descriptor> open_file(const child_file& wanted, int number, unique_descriptor& own_end) {
  const bool is_input = number == STDIN_FILENO;
  unique_descriptor file;
  std::string path = "/dev/null";
  if (const int* const shared = std::get_if<int>(&wanted)) {
    file = unique_descriptor(::fcntl(*shared, F_DUPFD_CLOEXEC, first_other_file));
    path = "a file";
  } else if (const auto* const stream = std::get_if<child_stream>(&wanted); stream && *stream != child_stream::null) {
    if (*stream == child_stream::inherited) return file;
    if (auto made = is_input ? make_pipe(file, own_end) : make_pipe(own_end, file); !made)
      return tl::unexpected(made.error());
    path = "a pipe";
  } else {
    if (stream == nullptr) path = std::get<std::string>(wanted);
    const int flags = is_input ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND;
    file = above_standard_files(unique_descriptor(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0600)));
  }
  if (!file) return fail(error_code::io, "cannot be opened for a child process: " + describe_errno(errno), path);
  return file;
}

/// The current environment with the variables in `set` added or replaced.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& set) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : set) entries.push_back(name + "=" + value);
  const auto is_set = [&](std::string_view entry) {
    return std::any_of(set.begin(), set.end(),
                       [&](const auto& each) { return entry.substr(0, entry.find('=')) == each.first; });
  };
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!is_set(*entry)) entries.emplace_back(*entry);
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

[[noreturn]] void give_up(const start_plan& plan, bool in_folder) {
  const start_failure why{errno, in_folder};
  [[maybe_unused]] const ssize_t written = ::write(plan.failed_in.get(), &why, sizeof why);
  ::_exit(127);
}

/// Resets the signals of a child, while all are blocked. A handler of this process must not run in the child.
void reset_signals() {
  const struct sigaction standard {};
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      ::sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

/// Runs the program. Uses async-signal-safe functions only, because other threads may hold any lock.
[[noreturn]] void run_program(const start_plan& plan) {
  if (plan.detached) {
    ::setsid();
    const pid_t child = ::vfork();  // NOLINT(clang-analyzer-*): see `create`.
    if (child < 0) give_up(plan, false);
    if (child > 0) ::_exit(0);  // Then the grandchild's parent is init, which waits for it.
  }
  const child_options& options = plan.options;
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) give_up(plan, true);
  for (int number = 0; number < first_other_file; ++number) {
    const int file = plan.files[static_cast<std::size_t>(number)].get();
    if (file >= 0 && ::dup2(file, number) < 0) give_up(plan, false);
  }
  // Kernels before 5.11 refuse this. There a child gets the descriptors that libraries did not make close-on-exec.
  if (!options.keeps_descriptors) ::close_range(first_other_file, ~0U, CLOSE_RANGE_CLOEXEC);
  reset_signals();
  if (options.before_program) options.before_program();
  ::execvpe(plan.words[0], plan.words.data(), plan.variables.data());
  give_up(plan, false);
}

/// Creates the child. `fork` would copy the page tables, which takes long if this process has much memory; `vfork` lets
/// the child use this process's memory until it runs its program. Signals are blocked, so that no handler runs there.
pid_t create(const start_plan& plan) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::vfork();  // NOLINT(clang-analyzer-*): `run_program` follows vfork's rules.
  if (child == 0) run_program(plan);
  const int problem = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = problem;
  return child;
}

error describe(const start_failure& why, const child_options& options) {
  const std::string& program = options.words.front();
  if (why.in_folder)
    return {error_code::not_found,
            "cannot be entered: " + describe_errno(why.number),
            options.folder,
            error::no_offset,
            {}};
  if (why.number == ENOENT)
    return {error_code::not_found,
            "no such program, or the interpreter named in its first line is missing",
            program,
            error::no_offset,
            {}};
  return {
      error_code::invalid_argument, "cannot be executed: " + describe_errno(why.number), program, error::no_offset, {}};
}

result<child_process> start_program(const child_options& options, bool detached) {
  std::vector<std::string> words = options.words, variables = environment_with(options.environment);
  start_plan plan{options, detached, pointers_to(words), pointers_to(variables), {}, {}, {}};
  std::array<unique_descriptor, 3> own_ends;
  const child_file* const wanted[] = {&options.input, &options.output, &options.errors};
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    auto file = open_file(*wanted[i], static_cast<int>(i), own_ends[i]);
    if (!file) return tl::unexpected(file.error());
    plan.files[i] = std::move(*file);
  }
  if (auto made = make_pipe(plan.failed_here, plan.failed_in); !made) return tl::unexpected(made.error());
  const pid_t pid = create(plan);
  if (pid < 0) return fail(error_code::unavailable, "cannot start a process: " + describe_errno(errno), words[0]);
  child_process child(pid, std::move(own_ends[STDOUT_FILENO]));
  child.input() = std::move(own_ends[STDIN_FILENO]);
  child.errors() = std::move(own_ends[STDERR_FILENO]);
  plan.failed_in = {};
  start_failure why;
  ssize_t got = 0;
  while ((got = ::read(plan.failed_here.get(), &why, sizeof why)) < 0 && errno == EINTR) continue;
  if (got == sizeof why) return tl::unexpected(describe(why, options));
  return child;
}

std::string to_seconds(milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

/// Appends the output from the pipe `from` to `text`, until its end. Errors: those of `read_output`.
result<void> read_to_end(int from, std::string& text, const output_limits& limits, steady_clock::time_point deadline,
                         output_watcher* watcher) {
  for (std::array<char, 65536> part;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) return fail(error_code::unavailable, "no result within " + to_seconds(limits.timeout));
    pollfd ready[2] = {{from, POLLIN, 0}, {watcher != nullptr ? watcher->descriptor() : -1, POLLIN, 0}};
    if (::poll(ready, 2, static_cast<int>(std::min<std::int64_t>(left, 1'000'000))) <= 0) continue;
    if (ready[1].revents != 0 && watcher->gives_up())
      return fail(error_code::cancelled, "the result is no longer needed");
    if (ready[0].revents == 0) continue;
    const ssize_t got = ::read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > limits.bytes)
      return fail(error_code::unavailable, "the result is longer than " + format_bytes(limits.bytes));
  }
}

}  // namespace

result<child_process> child_process::start(const child_options& options) { return start_program(options, false); }

result<void> child_process::start_detached(const child_options& options) {
  const auto parent = start_program(options, true);  // It has started the program and has nothing else to do.
  if (!parent) return tl::unexpected(parent.error());
  return {};
}

child_process::child_process(child_process&& other) noexcept { *this = std::move(other); }

child_process& child_process::operator=(child_process&& other) noexcept {
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(pid_, other.pid_);
  std::swap(running_, other.running_);
  std::swap(stopped_, other.stopped_);
  std::swap(status_, other.status_);
  return *this;
}

child_process::~child_process() { kill(); }

void child_process::take_note(int wait_status) {
  stopped_ = WIFSTOPPED(wait_status);
  if (!WIFEXITED(wait_status) && !WIFSIGNALED(wait_status)) return;
  running_ = false;
  status_ = WIFSIGNALED(wait_status) ? exit_status{0, WTERMSIG(wait_status)} : exit_status{WEXITSTATUS(wait_status), 0};
}

bool child_process::poll() { return reap(WNOHANG | WUNTRACED | WCONTINUED); }

bool child_process::reap(int flags) {
  while (running()) {
    int status = W_EXITCODE(255, 0);
    const pid_t got = ::waitpid(pid_, &status, flags);
    if (got == 0) return false;
    if (got > 0 || errno != EINTR) take_note(status);
  }
  return true;
}

bool child_process::wait(milliseconds timeout) {
  // A process that ends soon is noticed soon; one that takes long costs little CPU time.
  constexpr milliseconds longest_pause{20};
  const auto begin = steady_clock::now();
  for (milliseconds pause{1}; !poll(); pause = std::min(pause * 2, longest_pause)) {
    if (steady_clock::now() - begin >= timeout) return false;
    std::this_thread::sleep_for(std::min(pause, timeout));
  }
  return true;
}

void child_process::end(milliseconds patience, milliseconds grace) {
  for (unique_descriptor* each : {&input_, &output_, &errors_}) *each = {};
  if (wait(patience)) return;
  send_signal(SIGTERM);
  if (!wait(grace)) kill();
}

void child_process::send_signal(int number) const {
  if (running()) ::kill(pid_, number);
}

void child_process::kill() {
  send_signal(SIGKILL);
  reap(0);
}

result<std::string> child_process::read_output(const output_limits& limits, output_watcher* watcher) {
  const auto deadline = steady_clock::now() + limits.timeout;
  std::string text;
  auto read = read_to_end(output_.get(), text, limits, deadline, watcher);
  output_ = {};
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  if (read && !wait(left)) read = fail(error_code::unavailable, "no result within " + to_seconds(limits.timeout));
  kill();
  if (!read) return tl::unexpected(read.error());
  return text;
}

}  // namespace sluice
