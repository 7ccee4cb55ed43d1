#include "core/export/parquet/parquet_process.hpp"

#include <sys/socket.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <utility>

#include "core/base/files/full_disk.hpp"

extern "C" const char sluice_write_parquet[], sluice_write_parquet_end[];

namespace sluice::exports {
namespace {

constexpr const char* what_to_do = "`pip install pyarrow`, in the Python environment that is active when you run this";

std::string_view get_word(parquet_type type) {
  constexpr std::array<std::string_view, 5> words = {"integer", "rising", "real", "flag", "text"};
  return words[static_cast<std::size_t>(type)];
}

error unavailable(std::string subject) {
  return {error_code::unavailable, std::move(subject), "--format parquet", error::no_offset, what_to_do};
}

}  // namespace

result<parquet_process> parquet_process::start(const std::string& folder) {
  parquet_process process;
  auto errors = scratch_file::make();
  if (!errors) return tl::unexpected(errors.error());
  process.errors_.emplace(std::move(*errors));
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(error_code::unavailable, "cannot make a socket: " + describe_errno(errno), "--format parquet");
  process.stream_ = unique_descriptor(ends[0]);
  unique_descriptor of_child(ends[1]);
  auto started = child_process::start(
      {.words = {"python3", "-c", std::string(sluice_write_parquet, sluice_write_parquet_end), folder},
       .input = ends[1],
       .output = ends[1],
       .errors = process.errors_->path()});
  if (!started) return tl::unexpected(unavailable("needs Python with pyarrow: " + started.error().to_string()));
  process.process_ = std::move(*started);
  of_child = {};  // So that the end of the process ends the stream.
  const auto said = process.hear();
  if (said && said->starts_with("ready ")) return process;
  return tl::unexpected(
      unavailable(said ? "needs pyarrow 11 or later, which python3 does not find"
                       : "needs Python with pyarrow, and python3 fails: " + process.failure().message));
}

result<void> parquet_process::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(stream_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return tl::unexpected(failure());
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return {};
}

result<void> parquet_process::send(const std::string& line) { return send(std::as_bytes(std::span(line))); }

std::optional<std::string> parquet_process::hear() {
  std::array<char, 4096> bytes;
  std::size_t end;
  while ((end = heard_.find('\n')) == std::string::npos) {
    const ssize_t got = ::recv(stream_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    heard_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  std::string line = heard_.substr(0, end);
  heard_.erase(0, end + 1);
  return line;
}

error parquet_process::failure() {
  if (const auto said = hear()) return failure(*said);
  // The process ended without a reply. The last line of its standard error gives the most specific reason.
  std::ifstream complaints(errors_->path());
  std::string line, last = "it ended without an error message";
  while (std::getline(complaints, line))
    if (!line.empty()) last = line;
  return {error_code::io, "the Python process that writes Parquet failed: " + last, "python3", error::no_offset, ""};
}

error parquet_process::failure(std::string_view said) {
  int number = 0;
  if (said.starts_with("error ")) {
    said.remove_prefix(6);
    const auto read = std::from_chars(said.data(), said.data() + said.size(), number);
    said.remove_prefix(std::min<std::size_t>(static_cast<std::size_t>(read.ptr - said.data()) + 1, said.size()));
  }
  return {code_of_failed_write(number), "cannot write Parquet: " + std::string(said), "the data set", error::no_offset,
          ""};
}

result<void> parquet_process::begin_table(std::span<const parquet_column> columns) {
  if (std::exchange(in_table_, true))
    if (auto closed = send("{\"close\": true}\n"); !closed) return closed;
  std::string list;
  for (const parquet_column& each : columns)
    list += fmt::format("{}[\"{}\", \"{}\"]", list.empty() ? "" : ", ", each.name, get_word(each.type));
  return send(fmt::format("{{\"columns\": [{}]}}\n", list));
}

result<void> parquet_process::write(const std::string& path, std::size_t rows,
                                    std::span<const std::span<const std::byte>> buffers) {
  std::string sizes;
  for (const auto& each : buffers)
    fmt::format_to(std::back_inserter(sizes), "{}{}", sizes.empty() ? "" : ", ", each.size());
  if (auto sent = send(fmt::format("{{\"path\": \"{}\", \"rows\": {}, \"sizes\": [{}]}}\n", path, rows, sizes)); !sent)
    return sent;
  for (const auto& each : buffers)
    if (auto sent = send(each); !sent) return sent;
  return {};
}

result<std::uint64_t> parquet_process::end() {
  if (std::exchange(in_table_, false))
    if (auto closed = send("{\"close\": true}\n"); !closed) return tl::unexpected(closed.error());
  if (auto sent = send("{\"end\": true}\n"); !sent) return tl::unexpected(sent.error());
  const auto said = hear();
  if (!said) return tl::unexpected(failure());
  std::uint64_t bytes = 0;
  constexpr std::string_view done = "done ";
  if (!said->starts_with(done) ||
      std::from_chars(said->data() + done.size(), said->data() + said->size(), bytes).ec != std::errc())
    return tl::unexpected(failure(*said));
  return bytes;
}

}  // namespace sluice::exports
