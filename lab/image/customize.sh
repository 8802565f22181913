# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
# Finishes the root file system of a lab host. $1: the root, $2: the public key that may log in.
set -eu
root=$1
key=$2

chroot "$root" useradd --create-home --shell /bin/bash ansible
install -d -m 700 -o 1000 -g 1000 "$root/home/ansible/.ssh"
install -m 600 -o 1000 -g 1000 "$key" "$root/home/ansible/.ssh/authorized_keys"
echo 'ansible ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/ansible"
chmod 440 "$root/etc/sudoers.d/ansible"
chmod 755 "$root/usr/local/sbin/lab-boot"
chown -R 0:0 "$root/usr/local/sbin" "$root/etc/systemd/journald.conf.d" "$root/etc/ssh/sshd_config.d"

# Each host gets its own at its first boot.
rm -f "$root"/etc/ssh/ssh_host_*
: >"$root/etc/machine-id"
# Persistent: what was logged before a power cut is still there afterwards.
install -d -m 2755 "$root/var/log/journal"

chroot "$root" systemctl enable ssh.service
# A host shares the machine's kernel: whatever would set kernel values, load modules, or mount the kernel's own file
# systems is masked. The rest has no work to do on a lab host.
for unit in \
    systemd-sysctl.service systemd-modules-load.service systemd-binfmt.service kmod-static-nodes.service \
    systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service \
    proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount sys-kernel-debug.mount sys-kernel-config.mount \
    sys-kernel-tracing.mount sys-fs-fuse-connections.mount dev-hugepages.mount dev-mqueue.mount \
    systemd-remount-fs.service systemd-random-seed.service systemd-pcrphase.service systemd-pcrphase-sysinit.service \
    systemd-timesyncd.service systemd-networkd.service systemd-resolved.service \
    getty.target console-getty.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
