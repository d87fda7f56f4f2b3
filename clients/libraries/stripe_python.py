"""Makes one customer with the stripe library for Python; it makes its own key and retries."""

import json
import sys

import stripe

url, order = sys.argv[1:]
client = stripe.StripeClient("sk_test_none", base_addresses={"api": url}, max_network_retries=2)
try:
    customer = client.v1.customers.create({"name": order})
    print(json.dumps({"result": customer.id}))
except stripe.StripeError as error:
    print(json.dumps({"status": error.http_status}))
