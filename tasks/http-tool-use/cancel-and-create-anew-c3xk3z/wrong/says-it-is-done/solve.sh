echo '{"done": true}' > /app/result.json
echo "All done."
