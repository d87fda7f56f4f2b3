// Makes one customer with the stripe library for Node; it makes its own key and retries.

import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_PATH + "/");
const Stripe = require("stripe");

const [url, order] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const stripe = new Stripe("sk_test_none", {
  host: hostname,
  port,
  protocol: "http",
  maxNetworkRetries: 2,
  telemetry: false,
});
try {
  const customer = await stripe.customers.create({ name: order });
  // The library takes every answer without a member `error` for a result, whatever its status.
  const status = customer.lastResponse.statusCode;
  console.log(JSON.stringify(status === 200 ? { result: customer.id } : { status }));
} catch (error) {
  console.log(JSON.stringify({ status: error.statusCode ?? null }));
}
