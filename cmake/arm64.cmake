# Toolchain: builds for 64-bit ARM on another machine, against the Debian root in CROSSCUT_ARM64_ROOT
# (tools/check_arm64.sh makes one). What runs during the build is this machine's, but for the root's
# Python, which tells where its headers are (binfmt_misc and qemu run it).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)  # GCC 12 notes what GCC 10.1 changed: nothing here is older

set(CMAKE_SYSROOT $ENV{CROSSCUT_ARM64_ROOT})
if(NOT IS_DIRECTORY "${CMAKE_SYSROOT}/usr/include")
  message(FATAL_ERROR "CROSSCUT_ARM64_ROOT is '$ENV{CROSSCUT_ARM64_ROOT}', and no root of an arm64 "
    "system is there: make one with tools/check_arm64.sh")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{QEMU_LD_PREFIX} ${CMAKE_SYSROOT})
