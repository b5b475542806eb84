# Makes the inbox: names that break scripts which split on spaces or lines.
set -e
mkdir -p /app/inbox/deep/er /app/inbox/mail
cd /app/inbox
printf 'alpha\n' > 'a report.txt'
printf 'alpha\n' > deep/copy.txt
printf 'beta\n' > 'deep/a report.txt'
printf 'gamma' > 'deep/er/photo.JPG'
printf 'gamma\n' > 'mail/-n.jpg'
printf 'delta\n' > "$(printf 'mail/two\nlines.txt')"
printf 'epsilon\n' > 'mail/star*.Txt'
printf 'zeta\n' > .profile
printf 'eta\n' > README
: > empty.log
: > mail/empty.log
printf 'theta\n' > 'deep/archive.tar.gz'
ln -s ../README deep/link.txt
chown -R 1000:1000 /app
