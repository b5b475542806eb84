set -eu
cd /app
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/app
git init -q --template= --initial-branch=main .
git add -A
GIT_AUTHOR_DATE="2024-03-04T09:00:00Z" GIT_COMMITTER_DATE="2024-03-04T09:00:00Z" \
  git -c user.name=Maintainer -c user.email=maintainer@example.org -c core.logAllRefUpdates=false \
  commit -q --no-gpg-sign -m "Import the library"
rm -rf .git/logs .git/COMMIT_EDITMSG
chown -R 1000:1000 /app
