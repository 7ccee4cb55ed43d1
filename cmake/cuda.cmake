# Finds the CUDA toolkit. The build uses only its headers and nvcc. The driver and CUPTI are opened at run time, so no
# binary is linked with them.
#
# This file defines SLUICE_HAVE_CUDA (TRUE or FALSE), the target cuda_headers (cuda.h, cupti.h, nvtx3) and SLUICE_NVCC.

set(SLUICE_HAVE_CUDA FALSE)
if(SLUICE_CUDA STREQUAL "OFF")
  return()
endif()

# cuda_toolkit_fault(ROOT RESULT): sets RESULT to the reason why the toolkit at ROOT cannot be used, or to an empty
# string if it can. Sets variables with its paths in the caller's scope.
function(cuda_toolkit_fault root result)
  set(cuda_nvcc "${root}/bin/nvcc")
  find_path(cuda_include cuda.h PATHS "${root}/include" "${root}/targets/x86_64-linux/include" NO_DEFAULT_PATH NO_CACHE)
  find_path(cupti_include cupti.h PATHS "${root}/include" "${root}/targets/x86_64-linux/include" "${root}/extras/CUPTI/include"
            NO_DEFAULT_PATH NO_CACHE)
  set(cuda_version 0)
  if(cuda_include)
    file(STRINGS "${cuda_include}/cuda.h" version_line REGEX "^#define CUDA_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+" cuda_version "${version_line}")
  endif()
  if(NOT EXISTS "${cuda_nvcc}")
    set(${result} "no nvcc" PARENT_SCOPE)
  elseif(NOT cuda_include)
    set(${result} "no cuda.h" PARENT_SCOPE)
  elseif(cuda_version LESS 12040)
    set(${result} "version ${cuda_version}, 12040 or later is needed" PARENT_SCOPE)
  elseif(NOT cupti_include)
    set(${result} "no cupti.h" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
  return(PROPAGATE cuda_nvcc cuda_include cupti_include cuda_version)
endfunction()

# Takes the first usable toolkit of these: the one that the environment names, the one in PATH, the one in the usual
# folder, the one that ./dev setup unpacked.
find_program(cuda_on_path nvcc NO_CACHE)
if(cuda_on_path)
  file(REAL_PATH "${cuda_on_path}" cuda_on_path)
  cmake_path(GET cuda_on_path PARENT_PATH cuda_on_path)
  cmake_path(GET cuda_on_path PARENT_PATH cuda_on_path)
endif()
set(cuda_missing "no toolkit found")
foreach(root "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" "${cuda_on_path}" /usr/local/cuda "${SLUICE_DEPS_DIR}/cuda-13.0")
  if(root AND IS_DIRECTORY "${root}")
    cuda_toolkit_fault("${root}" fault)
    if(NOT fault)
      set(cuda_missing "")
      set(cuda_root "${root}")
      break()
    endif()
    set(cuda_missing "the toolkit at ${root} has ${fault}")
  endif()
endforeach()

if(cuda_missing AND SLUICE_CUDA STREQUAL "ON")
  message(FATAL_ERROR "CUDA: ${cuda_missing}. Run ./dev setup, set CUDA_HOME, or build without it (-DSLUICE_CUDA=OFF).")
elseif(cuda_missing)
  message(STATUS "CUDA: ${cuda_missing}; building without the CUDA backend and the capture library")
  return()
endif()

set(SLUICE_HAVE_CUDA TRUE)
set(SLUICE_NVCC "${cuda_nvcc}")
message(STATUS "CUDA: version ${cuda_version} at ${cuda_root}")
add_library(cuda_headers INTERFACE)
target_include_directories(cuda_headers SYSTEM INTERFACE "${cuda_include}" "${cupti_include}")
target_compile_definitions(cuda_headers INTERFACE SLUICE_HAVE_CUDA=1)

# sluice_cuda_fatbin(TARGET FILE.cu)
# Compiles FILE.cu to a fatbin (sm_90 code, and PTX, which the driver translates for other GPUs from sm_80 on) and
# embeds it in TARGET as
#   extern "C" const unsigned char <FILE>_fatbin[], <FILE>_fatbin_end[];
function(sluice_cuda_fatbin target source)
  cmake_path(GET source STEM name)
  set(fatbin "${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin")
  add_custom_command(
    OUTPUT "${fatbin}"
    COMMAND "${SLUICE_NVCC}" -fatbin -O3 -std=c++17 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=compute_80
            -I "${SLUICE_ROOT}" -o "${fatbin}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
    COMMENT "Compiling ${source} for the GPU"
    VERBATIM)
  sluice_embed(${target} ${name}_fatbin "${fatbin}")
endfunction()
