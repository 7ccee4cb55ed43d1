#include "core/remote/address.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "core/remote/connection.hpp"
#include "core/remote/live_source.hpp"
#include "core/remote/remote_source.hpp"
#include "core/remote/remote_sql.hpp"

namespace sluice::remote {
namespace {

/// The limit is long because typing a password takes time.
constexpr std::chrono::minutes max_connecting{2};

result<opened_address> open_over_ssh(const std::string& address, const trace::reader_options& options,
                                     const std::function<bool()>& cancelled) {
  const auto to = parse_ssh_address(address);
  if (!to) return tl::unexpected(to.error());
  const char* named = std::getenv("SLUICE_REMOTE_PROGRAM");
  const std::string program = named != nullptr && *named != '\0' ? named : "sluice";
  const auto reached = connection::to_program(ssh_words(*to, program), address, max_connecting, cancelled);
  if (!reached) return tl::unexpected(reached.error());
  auto opened = open_remote(*reached, options, cancelled);
  if (!opened) return tl::unexpected(opened.error());
  return opened_address{std::move(*opened), std::filesystem::path(to->path).filename().string(), nullptr,
                        get_sql_host(*reached)};
}

}  // namespace

result<opened_address> open_address(const std::string& address, const trace::reader_options& options,
                                    const std::function<bool()>& cancelled) {
  if (!is_live_address(address)) return open_over_ssh(address, options, cancelled);
  auto live = follow_live(address.substr(live_scheme.size()), address, cancelled);
  if (!live) return tl::unexpected(live.error());
  auto opened = trace::file::open(live->source, options);
  if (!opened) return tl::unexpected(opened.error());
  return opened_address{std::move(*opened), std::filesystem::path(live->path).filename().string(), live->source,
                        nullptr};
}

}  // namespace sluice::remote
