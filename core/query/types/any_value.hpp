#pragma once

#include <memory>
#include <utility>

#include "core/base/error.hpp"

namespace sluice::query {

/// The result of a query of any type: a `std::shared_ptr<const T>`, where T is the query's `result_type`.
using any_value = std::shared_ptr<const void>;

template <class T>
[[nodiscard]] result<any_value> to_any(result<T>&& found) {
  if (!found) return tl::unexpected<error>(std::move(found.error()));
  return std::make_shared<const T>(std::move(*found));
}

/// `found` must be the result of a query whose `result_type` is T.
template <class T>
[[nodiscard]] result<std::shared_ptr<const T>> from_any(result<any_value>&& found) {
  if (!found) return tl::unexpected<error>(std::move(found.error()));
  return std::static_pointer_cast<const T>(*std::move(found));
}

}  // namespace sluice::query
