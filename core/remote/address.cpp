#include "core/remote/address.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "core/remote/connection.hpp"
#include "core/remote/live_source.hpp"
#include "core/remote/remote_results.hpp"

namespace sluice::remote {
namespace {

/// The limit is long because typing a password takes time.
constexpr std::chrono::minutes max_connecting{2};

result<opened_address> open_over_ssh(const std::string& address, const std::function<bool()>& cancelled) {
  const auto to = parse_ssh_address(address);
  if (!to) return tl::unexpected(to.error());
  const char* named = std::getenv("SLUICE_REMOTE_PROGRAM");
  const std::string program = named != nullptr && *named != '\0' ? named : "sluice";
  const auto reached = connection::to_program(ssh_words(*to, program), address, max_connecting, cancelled);
  if (!reached) return tl::unexpected(reached.error());
  auto answered = get_results(*reached);
  if (!answered) return tl::unexpected(answered.error());
  return opened_address{std::move(answered->file), std::filesystem::path(to->path).filename().string(), nullptr,
                        std::move(answered->answerer)};
}

}  // namespace

result<opened_address> open_address(const std::string& address, const trace::reader_options& options,
                                    const std::function<bool()>& cancelled) {
  if (!is_live_address(address)) return open_over_ssh(address, cancelled);
  auto live = follow_live(address.substr(live_scheme.size()), address, cancelled);
  if (!live) return tl::unexpected(live.error());
  auto opened = trace::file::open(live->source, options);
  if (!opened) return tl::unexpected(opened.error());
  return opened_address{std::move(*opened), std::filesystem::path(live->path).filename().string(), live->source,
                        nullptr};
}

}  // namespace sluice::remote
