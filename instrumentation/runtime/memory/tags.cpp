#include "instrumentation/runtime/tags.hpp"

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime {

scoped_tag::scoped_tag(std::string_view name) : outer_(innermost_) {
  if (outer_ != nullptr) path_.append(outer_->path_).append("/");
  path_.append(name);
  innermost_ = this;
}

scoped_tag::~scoped_tag() { innermost_ = outer_; }

std::string_view scoped_tag::current() noexcept {
  return innermost_ == nullptr ? std::string_view{} : std::string_view{innermost_->path_};
}

std::uint64_t scoped_tag::key() const noexcept {
  const std::uint32_t now = layer_log::generation();
  if (generation_ != now) {
    key_ = ring::intern(path_.data(), path_.size());
    generation_ = now;
  }
  return key_;
}

}  // namespace sluice::runtime
