#include "instrumentation/runtime/tags.hpp"

#include "instrumentation/collector/producer.hpp"
#include "instrumentation/runtime/layer_log.hpp"

namespace sluice::runtime {

namespace {

constinit thread_local const scoped_tag* innermost = nullptr;

}  // namespace

scoped_tag::scoped_tag(std::string_view name) : outer_(innermost) {
  if (outer_ != nullptr) path_.append(outer_->path_).append("/");
  path_.append(name);
  innermost = this;
}

scoped_tag::~scoped_tag() { innermost = outer_; }

std::string_view scoped_tag::current() noexcept {
  return innermost == nullptr ? std::string_view{} : std::string_view{innermost->path_};
}

std::uint64_t scoped_tag::current_key() noexcept {
  const scoped_tag* tag = innermost;
  if (tag == nullptr) return 0;
  const std::uint32_t now = layer_log::generation();
  if (tag->generation_ != now) {
    tag->key_ = collector::intern(tag->path_.data(), tag->path_.size());
    tag->generation_ = now;
  }
  return tag->key_;
}

}  // namespace sluice::runtime
