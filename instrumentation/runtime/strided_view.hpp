#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "instrumentation/runtime/shape.hpp"

namespace sluice::runtime {

template <class T, std::size_t Rank>
class strided_view;

/// The common interface of all mdspan classes (std::mdspan, cuda::std::mdspan, Kokkos). This
/// header includes none of them, so a program can convert to whichever class it uses.
template <class M, class T, std::size_t Rank>
concept mdspan_of = requires {
  typename M::element_type;
  typename M::mapping_type;
  typename M::extents_type;
  requires std::is_convertible_v<T(*)[], typename M::element_type(*)[]>;
  requires M::rank()
  == Rank;
};

/// A non-owning view of an array with `Rank` axes. It consists of a pointer, extents and strides in elements. It is
/// small, cheap to copy and usable as a kernel argument. The memory must outlive the view. Strides may be 0 or
/// negative.
///
/// The host may access elements only if they are in host or managed memory.
/// Functions that return other views copy no elements and are O(Rank).
template <class T, std::size_t Rank>
class strided_view {
 public:
  using element_type = T;
  static constexpr std::size_t rank() noexcept { return Rank; }

  /// A null view without elements (with rank 0: a null pointer, but one element).
  constexpr strided_view() noexcept = default;
  /// A dense array. Throws error if an extent is negative or the size in bytes overflows.
  strided_view(T* data, const shape<Rank>& extents, storage_order order = storage_order::c)
      : data_(data), extents_(extents) {
    size_ = element_count(extents_, sizeof(T), "strided_view");
    dense_strides(extents_, order, strides_);
  }
  /// Strides are in elements; `data` points to the element with all indices 0. Throws error if the offsets overflow.
  strided_view(T* data, const shape<Rank>& extents, const shape<Rank>& strides)
      : data_(data), extents_(extents), strides_(strides) {
    size_ = element_count(extents_, sizeof(T), "strided_view");
    if (size_ != 0) (void)find_offset_range(extents_, strides_, sizeof(T), "strided_view");
  }
  /// A view of T converts to a view of const T.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<const U, T>)
      // NOLINTNEXTLINE(google-explicit-constructor)
      strided_view(const strided_view<U, Rank>& other)
  noexcept : data_(other.data()), extents_(other.extents()), strides_(other.strides()), size_(other.size()) {}

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] const shape<Rank>& extents() const noexcept { return extents_; }
  /// For each axis: the distance from one element to the next, in elements (not bytes).
  [[nodiscard]] const shape<Rank>& strides() const noexcept { return strides_; }
  [[nodiscard]] std::int64_t extent(std::size_t axis) const noexcept { return extents_[axis]; }
  [[nodiscard]] std::int64_t stride(std::size_t axis) const noexcept { return strides_[axis]; }
  /// size() counts elements, size_bytes() their bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] bool is_contiguous(storage_order order) const noexcept {
    return runtime::is_contiguous(extents_, strides_, order);
  }
  [[nodiscard]] bool is_c_contiguous() const noexcept { return is_contiguous(storage_order::c); }
  [[nodiscard]] bool is_f_contiguous() const noexcept { return is_contiguous(storage_order::f); }

  /// The element at these indices, one per axis. Not bounds-checked.
  template <class... Index>
  requires(sizeof...(Index) == Rank && (std::is_convertible_v<Index, std::int64_t> && ...)) [[nodiscard]] T& operator()(
      Index... index) const noexcept {
    std::int64_t offset = 0;
    std::size_t axis = 0;
    ((offset += static_cast<std::int64_t>(index) * strides_[axis++]), ...);
    return data_[offset];
  }

  /// A view of all elements as a single axis, in the given order. Throws error unless the view is contiguous in that
  /// order, because a view cannot move elements.
  [[nodiscard]] strided_view<T, 1> ravel(storage_order order = storage_order::c) const {
    require_contiguous(order, "ravel");
    return strided_view<T, 1>(data_, shape<1>{static_cast<std::int64_t>(size_)});
  }
  /// The same elements with other extents. One extent may be -1 and is then computed from the others. Throws error
  /// unless the view is contiguous in that order and the number of elements matches.
  template <std::size_t Other>
  [[nodiscard]] strided_view<T, Other> reshape(shape<Other> extents, storage_order order = storage_order::c) const {
    require_contiguous(order, "reshape");
    complete_extents(extents, size_, "reshape");
    return strided_view<T, Other>(data_, extents, order);
  }
  /// The same elements with the axes in reverse order.
  [[nodiscard]] strided_view transpose() const noexcept {
    strided_view out = *this;
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      out.extents_[axis] = extents_[Rank - 1 - axis];
      out.strides_[axis] = strides_[Rank - 1 - axis];
    }
    return out;
  }
  /// Selects the indices begin, begin + step, ... below `end` of one axis. Throws error
  /// if the axis does not exist, step is below 1, or the range is outside [0, extent].
  [[nodiscard]] strided_view slice(std::size_t axis, std::int64_t begin, std::int64_t end,
                                   std::int64_t step = 1) const {
    if (axis >= Rank) refuse("slice", "axis " + std::to_string(axis) + " of " + to_string(extents_));
    if (step < 1 || begin < 0 || end < begin || end > extents_[axis]) {
      refuse("slice", "[" + std::to_string(begin) + ":" + std::to_string(end) + ":" + std::to_string(step) +
                          "] of axis " + std::to_string(axis) + " of " + to_string(extents_));
    }
    strided_view out = *this;
    out.extents_[axis] = end == begin ? 0 : (end - begin - 1) / step + 1;
    if (begin < end) out.data_ += begin * strides_[axis];
    // With only one element, the stride times the step could overflow 64 bits.
    if (out.extents_[axis] > 1) out.strides_[axis] *= step;
    out.size_ = element_count(out.extents_, sizeof(T), "slice");
    return out;
  }

  /// Converts to an mdspan. layout_stride always works, layout_right needs a C-contiguous
  /// view, layout_left an F-contiguous view. Throws error if the layout does not match, or
  /// if an extent does not match the mdspan's index type or static extents.
  template <class Mdspan>
  requires mdspan_of<Mdspan, T, Rank>
  [[nodiscard]] Mdspan to_mdspan() const { return make_mdspan<Mdspan>(std::make_index_sequence<Rank>{}); }

 private:
  void require_contiguous(storage_order order, const char* call) const {
    if (is_contiguous(order)) return;
    refuse(call, "the view of shape " + to_string(extents_) + " and strides " + to_string(strides_) + " is not " +
                     (order == storage_order::c ? "C" : "F") +
                     "-contiguous; a view cannot move elements, so copy it to a contiguous array first");
  }

  template <class Mdspan, std::size_t... Axis>
  [[nodiscard]] Mdspan make_mdspan(std::index_sequence<Axis...>) const {
    using index = typename Mdspan::extents_type::index_type;
    using mapping = typename Mdspan::mapping_type;
    if (!((std::in_range<index>(extents_[Axis]) && std::in_range<index>(strides_[Axis])) && ...)) {
      refuse("to_mdspan", "shape " + to_string(extents_) + " does not fit into the mdspan's index type");
    }
    const bool statics_fit = ((Mdspan::extents_type::static_extent(Axis) == static_cast<std::size_t>(-1) ||
                               std::cmp_equal(Mdspan::extents_type::static_extent(Axis), extents_[Axis])) &&
                              ...);
    if (!statics_fit) refuse("to_mdspan", "shape " + to_string(extents_) + " does not match the mdspan's extents");
    const typename Mdspan::extents_type extents{static_cast<index>(extents_[Axis])...};
    if constexpr (
        Rank > 0 && requires(const mapping& m) { m.strides(); } &&
        requires(const mapping& m) { mapping(extents, m.strides()); }) {
      const decltype(std::declval<const mapping&>().strides()) strides{static_cast<index>(strides_[Axis])...};
      return Mdspan(data_, mapping(extents, strides));
    } else {
      const mapping dense(extents);
      if (!(empty() || ((extents_[Axis] == 1 || std::cmp_equal(dense.stride(Axis), strides_[Axis])) && ...))) {
        refuse("to_mdspan", "strides " + to_string(strides_) + " do not match the mdspan's layout");
      }
      return Mdspan(data_, dense);
    }
  }

  T* data_ = nullptr;
  shape<Rank> extents_{};
  shape<Rank> strides_{};
  std::uint64_t size_ = 0;
};

/// The preferred order for a copy of this array: Fortran if the view is contiguous in Fortran order only, else C.
template <class T, std::size_t Rank>
[[nodiscard]] storage_order get_order(const strided_view<T, Rank>& view) noexcept {
  return !view.is_c_contiguous() && view.is_f_contiguous() ? storage_order::f : storage_order::c;
}

}  // namespace sluice::runtime
