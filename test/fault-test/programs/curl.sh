# Wrong: curl repeats a POST whose response was lost.
set -e
header="authorization: Bearer $SUPPORT_WORKSPACE_TOKEN"
base="$SUPPORT_WORKSPACE_URL/api/oauth/v1"
id=$(curl -sf --max-time 5 --retry 2 -H "$header" "$base/conversations?limit=1" | sed -E 's/.*"data":\[\{"id":"([^"]+)".*/\1/')
curl -sf --max-time 5 --retry 2 --retry-all-errors -H "$header" -H 'content-type: application/json' \
  -d '{"body_html":"<p>On it.</p>"}' "$base/conversations/$id/messages" > "$SUPPORT_WORKSPACE_FOLDER/message.json"
