#include "app/recordings/file_state.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <ctime>

namespace sluice::recordings {
namespace {

constexpr std::int64_t second = 1'000'000'000;

std::tm get_local_time(std::int64_t time) {
  const auto seconds = static_cast<std::time_t>(time / second);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

/// The number of a day in the calendar, counted from any day.
std::int64_t get_day(std::tm parts) {
  parts.tm_hour = 12;  // Far from any change of the clock.
  parts.tm_min = parts.tm_sec = 0;
  parts.tm_isdst = -1;
  return (static_cast<std::int64_t>(std::mktime(&parts)) + 43'200) / 86'400;
}

}  // namespace

file_state read_state(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  return {true, static_cast<std::uint64_t>(about.st_size),
          static_cast<std::int64_t>(about.st_mtim.tv_sec) * second + about.st_mtim.tv_nsec};
}

std::string format_date(std::int64_t time, std::int64_t now) {
  static constexpr std::array months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm then = get_local_time(time), today = get_local_time(now);
  const std::int64_t days = get_day(today) - get_day(then);
  if (days == 0) return fmt::format("today {:02}:{:02}", then.tm_hour, then.tm_min);
  if (days == 1) return "yesterday";
  const char* month = months[static_cast<std::size_t>(then.tm_mon) % months.size()];
  if (then.tm_year == today.tm_year) return fmt::format("{} {}", then.tm_mday, month);
  return fmt::format("{} {} {}", then.tm_mday, month, then.tm_year + 1900);
}

std::int64_t get_date() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace sluice::recordings
