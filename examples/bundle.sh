#!/bin/sh
# Writes the bundle of this gpucloud for machines of another architecture than this
# one's, which jobs get there (gpucloud-aws(7), "OTHER ARCHITECTURES"):
#
#	sh examples/bundle.sh arm64 gpucloud-arm64.tar.gz
#	gpucloud agent --add-bundle gpucloud-arm64.tar.gz
#
# It compiles by clang with the libraries of this Debian or Ubuntu for the other
# architecture, and lets the program, run by QEMU, write its bundle. Nothing on this
# system changes, and no root is needed: all is downloaded into, unpacked in, and gone
# with a folder of its own, but where WORK names one to keep. SOURCES may name a file
# of apt with other servers. Needs clang, lld, llvm-ar, meson, ninja, pkg-config and apt.
set -eu

fail() { echo "bundle.sh: $*" >&2; exit 1; }
case ${1-} in
	arm64 | aarch64) arch=arm64 cpu=aarch64 ;;
	x86_64 | amd64) arch=amd64 cpu=x86_64 ;;
	*) fail "usage: sh examples/bundle.sh arm64|x86_64 FILE" ;;
esac
[ $# = 2 ] || fail "usage: sh examples/bundle.sh arm64|x86_64 FILE"
file=$2
source=$(cd "$(dirname "$0")/.." && pwd)
triple=$cpu-linux-gnu
for tool in clang ld.lld llvm-ar meson ninja pkg-config apt-get dpkg-deb; do
	command -v "$tool" >/dev/null ||
		fail "$tool is missing: apt-get install clang lld llvm meson ninja-build pkg-config"
done
if [ -n "${WORK-}" ]; then
	mkdir -p "$WORK"
	work=$(cd "$WORK" && pwd)
else
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
fi
root=$work/root

# --- packages, by an apt that knows nothing of this system -----------------------
# shellcheck source=/dev/null
. /etc/os-release
servers() { # ARCH
	case $ID:$1 in
		debian:*)
			echo "http://deb.debian.org/debian $VERSION_CODENAME main"
			echo "http://deb.debian.org/debian-security $VERSION_CODENAME-security main" ;;
		ubuntu:amd64)
			echo "http://archive.ubuntu.com/ubuntu $VERSION_CODENAME main universe"
			echo "http://archive.ubuntu.com/ubuntu $VERSION_CODENAME-updates main universe" ;;
		ubuntu:*)
			echo "http://ports.ubuntu.com/ubuntu-ports $VERSION_CODENAME main universe"
			echo "http://ports.ubuntu.com/ubuntu-ports $VERSION_CODENAME-updates main universe" ;;
		*) fail "the servers of $ID are not known: name a file of apt in SOURCES" ;;
	esac
}
prepare_apt() { # ARCH: an apt for it at $apt
	apt=$work/apt-$1
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	: >"$apt/status"
	if [ -n "${SOURCES-}" ]; then
		cp "$SOURCES" "$apt/"
		sources=$apt/${SOURCES##*/}
	else
		sources=$apt/sources.list key=/usr/share/keyrings/$ID-archive-keyring.gpg
		servers "$1" | sed "s|^|deb [arch=$1 signed-by=$key] |" >"$sources"
	fi
	cat >"$apt/conf" <<-C
		APT::Architecture "$1";
		APT::Architectures { "$1"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Debug::NoLocking "true";
		Dir::State::lists "$apt/lists";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt";
		Dir::Etc::sourcelist "$sources";
		Dir::Etc::sourceparts "/dev/null";
	C
	APT_CONFIG=$apt/conf apt-get -q update >"$work/log" 2>&1 ||
		{ tail -n 5 "$work/log" >&2; fail "apt finds no packages for $1"; }
}
fetch() { # PACKAGE...: with what they need
	APT_CONFIG=$apt/conf apt-get -q -y -d install "$@" >"$work/log" 2>&1 ||
		{ tail -n 5 "$work/log" >&2; fail "apt does not download $*"; }
}
echo "bundle.sh: libraries for $arch" >&2
prepare_apt "$arch"
gcc=$(APT_CONFIG=$apt/conf apt-cache pkgnames libgcc- | grep -x 'libgcc-[0-9]*-dev' |
	sort -V | tail -n 1)
fetch libc6-dev "$gcc" libcjson-dev libyaml-dev libssl-dev libarchive-dev \
	libcurl4-openssl-dev libexpat1-dev
rm -rf "$root"
mkdir -p "$root"
for package in "$apt"/archives/*.deb; do
	dpkg-deb -x "$package" "$root"
done
# Links from the top would lead to this system.
find "$root" -type l -lname '/*' | while read -r link; do
	ln -sfn "$(realpath -sm --relative-to="${link%/*}" "$root$(readlink "$link")")" "$link"
done
qemu=$(command -v "qemu-$cpu-static" || command -v "qemu-$cpu") || {
	echo "bundle.sh: QEMU" >&2
	prepare_apt "$(dpkg --print-architecture)"
	(cd "$apt/archives" && APT_CONFIG=$apt/conf apt-get -q download qemu-user-static) \
		>"$work/log" 2>&1 || fail "apt does not download qemu-user-static"
	dpkg-deb -x "$apt"/archives/qemu-user-static_*.deb "$work/qemu"
	qemu=$work/qemu/usr/bin/qemu-$cpu-static
}

# --- the program ------------------------------------------------------------------
cat >"$work/cross.ini" <<C
[binaries]
c = ['clang', '--target=$triple', '--sysroot=$root']
c_ld = 'lld'
ar = 'llvm-ar'
pkgconfig = 'pkg-config'
exe_wrapper = ['$qemu', '-L', '$root']

[properties]
sys_root = '$root'
pkg_config_libdir = '$root/usr/lib/$triple/pkgconfig:$root/usr/share/pkgconfig'

[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
C
echo "bundle.sh: the program for $arch" >&2
rm -rf "$work/build"
meson setup --cross-file "$work/cross.ini" -Dtests=false --buildtype=release \
	"$work/build" "$source" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; fail "meson setup"; }
ninja -C "$work/build" cmd/gpucloud >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "ninja"; }
ca=/etc/ssl/certs/ca-certificates.crt
[ ! -r "$ca" ] || export SSL_CERT_FILE="$ca"
"$qemu" -L "$root" "$work/build/cmd/gpucloud" agent --bundle "$file"
