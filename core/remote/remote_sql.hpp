#pragma once

#include <memory>

#include "core/query/remote/sql_host.hpp"
#include "core/remote/connection.hpp"

namespace sluice::remote {

/// Returns the host of a connection whose peer runs SQL (`sluice serve --stdio`).
[[nodiscard]] std::shared_ptr<query::sql_host> get_sql_host(std::shared_ptr<connection> by);

}  // namespace sluice::remote
