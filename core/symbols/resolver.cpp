#include "core/symbols/resolver.hpp"

namespace sluice::symbols {

resolution resolver::find(std::string_view module_path, std::string_view build_id, std::uint64_t address) {
  module* found = nullptr;
  const std::pair key{std::string(module_path), std::string(build_id)};
  {
    const std::scoped_lock lock(mutex_);
    auto& place = modules_[key];
    if (!place) place = std::make_unique<module>();
    found = place.get();
  }
  const std::scoped_lock lock(found->mutex);
  if (!found->opened) {
    open(*found, key.first, key.second);
    found->opened = true;
  }
  const auto known = found->known.find(address);
  if (known != found->known.end()) return known->second;
  return found->known.emplace(address, look_up(*found, address)).first->second;
}

namespace {

/// The maximum size of a symbol file in bytes, about ten times the size of the largest libraries with full debug
/// information.
constexpr std::uint64_t largest_symbol_file = std::uint64_t{32} << 30;

}  // namespace

result<std::unique_ptr<symbol_file>> resolver::open_file(const std::string& path) const {
  auto found = options_.local.open(path, largest_symbol_file);
  if (!found) return tl::unexpected(found.error());
  return symbol_file::open(std::move(found->file), found->path, found->as_recorded);
}

std::unique_ptr<symbol_file> resolver::open_by_build_id(const std::string& build_id) const {
  // Only hexadecimal digits are accepted, because the build id becomes part of a path.
  if (build_id.size() < 3 || build_id.find_first_not_of("0123456789abcdef") != std::string::npos) return nullptr;
  for (const std::string& root : options_.debug_roots) {
    auto opened = open_file(root + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug");
    if (opened && (*opened)->build_id() == build_id) return std::move(*opened);
  }
  return nullptr;
}

std::unique_ptr<symbol_file> resolver::open_beside(const std::string& path, const std::string& build_id) const {
  if (!path.starts_with('/') || build_id.empty()) return nullptr;
  auto opened = open_file(path + ".debug");
  return opened && (*opened)->build_id() == build_id ? std::move(*opened) : nullptr;
}

void resolver::open(module& which, const std::string& path, const std::string& build_id) const {
  if (!options_.local.any()) {
    which.why = verdict::untrusted;
    return;
  }
  if (path.starts_with('/')) {
    auto opened = open_file(path);
    if (!opened) {
      which.why = opened.error().code == error_code::not_found ? verdict::no_file : verdict::unreadable;
    } else if (!build_id.empty() && (*opened)->build_id() != build_id) {
      which.why = verdict::other_build;
    } else {
      which.code = std::move(*opened);
    }
  }
  which.separate = open_by_build_id(build_id);
  if (which.separate == nullptr) which.separate = open_beside(path, build_id);
  for (symbol_file* file : {which.code.get(), which.separate.get()})
    if (file != nullptr && !file->supplement_id().empty()) file->supplement(open_by_build_id(file->supplement_id()));
}

resolution resolver::look_up(module& in, std::uint64_t address) {
  if (!in.code && !in.separate) return {in.why, {}};
  resolution output{verdict::no_symbols, {}};
  for (symbol_file* file : {in.separate.get(), in.code.get()}) {
    if (file == nullptr || !output.places.empty()) continue;
    output.places = file->find_lines(address);
  }
  const bool named = !output.places.empty() && !output.places.back().function.empty();
  for (symbol_file* file : {in.separate.get(), in.code.get()}) {
    if (file == nullptr || named) continue;
    std::string function = file->find_function(address);
    if (function.empty()) continue;
    if (output.places.empty()) output.places.emplace_back();
    output.places.back().function = std::move(function);
    break;
  }
  if (!output.places.empty()) output.why = verdict::found;
  return output;
}

}  // namespace sluice::symbols
