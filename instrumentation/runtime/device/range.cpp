#include "instrumentation/runtime/range.hpp"

#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime {

namespace {

// The key depends only on the name (FNV-1a), so all counters with one name are the same counter, in every run.
std::uint64_t get_key(std::string_view name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

scoped_range::scoped_range(std::string_view name) noexcept
    : name_(name), begin_(layer_log::on() ? layer_log::now() : 0) {}

scoped_range::~scoped_range() {
  if (begin_ != 0) layer_log::range(name_, begin_);
}

void mark(std::string_view name) noexcept { layer_log::marker(name, -1); }

void step(std::int64_t number, std::string_view name) noexcept { layer_log::marker(name, number); }

counter::counter(std::string name, trace::counter_unit unit)
    : name_(std::move(name)), unit_(unit), key_(get_key(name_)) {
  layer_log::define_counter(key_, name_, unit_);
}

void counter::set(double value) const noexcept { layer_log::counter(key_, value); }

}  // namespace sluice::runtime
