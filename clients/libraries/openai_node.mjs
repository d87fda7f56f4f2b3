// Asks for one completion with the openai library for Node; it makes its own key and retries.

import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_PATH + "/");
const { OpenAI } = require("openai");

const [url, order] = process.argv.slice(2);
const client = new OpenAI({ apiKey: "none", baseURL: url + "/v1", maxRetries: 2 });
// The library has the header's name ready and leaves it unset.
client.idempotencyHeader = "Idempotency-Key";
try {
  const completion = await client.chat.completions.create({
    model: "none",
    messages: [{ role: "user", content: order }],
  });
  console.log(JSON.stringify({ result: completion.id }));
} catch (error) {
  console.log(JSON.stringify({ status: error.status ?? null }));
}
