// A storefront's calls with types from the OpenAPI document. To make the types:
//   npx openapi-typescript infra/openapi.json -o api.ts
import type { components, paths } from "./api.ts";

type Schemas = components["schemas"];
type Post = { [P in keyof paths]: paths[P] extends { post: object } ? P : never }[keyof paths];
type Operation<P extends Post> = paths[P] extends { post: infer O } ? O : never;
type Sent<P extends Post> = Operation<P> extends { requestBody?: infer R } ? NonNullable<R> : never;
type Body<P extends Post> = [Sent<P>] extends [never] ? undefined : Sent<P> extends { content: { "application/json": infer B } } ? B : never;
type Ok<P extends Post> = Operation<P> extends { responses: { 200: { content: { "application/json": infer R } } } } ? R : never;

/** A response other than 200, with its text for people. */
class Refused extends Error {
  constructor(readonly status: number, text: string, readonly retryAfter: number | undefined) {
    super(text);
  }
}

class Client {
  constructor(readonly base: string, readonly token: string | undefined = undefined) {}

  async post<P extends Post>(path: P, body: Body<P>, parameters: Record<string, string | number> = {}): Promise<Ok<P>> {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ""));
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (this.token !== undefined) headers["authorization"] = `Bearer ${this.token}`;
    const response = await fetch(this.base + filled, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
    const reply = await response.json();
    if (response.ok) return reply as Ok<P>;
    const wait = response.headers.get("retry-after");
    throw new Refused(response.status, reply.message ?? reply.error, wait === null ? undefined : Number(wait));
  }
}

async function settings(base: string): Promise<Schemas["SettingsGetResponse"]> {
  return (await fetch(`${base}/settings/get`)).json();
}

const base = process.argv[2] ?? "http://127.0.0.1:4010";
const { website_name, system_currency } = await settings(base);
console.log(website_name, system_currency.name);
const token = await new Client(base).post("/auth/username", { username: "Newcomer" });
const buyer = new Client(base, token);
const section = await buyer.post("/categories/get/{url}", undefined, { url: "crates" });
const listed = [section, ...section.subcategories].flatMap(({ items }) => items);
const item = listed.find((item) => !item.is_unavailable && !item.custom_price && !item.is_virtual_currency_only);
if (item === undefined) throw new Error("this category has nothing to buy");

const added = await buyer.post("/cart/add/{id}", { payment_type: 0, promoted: 0 }, { id: item.id });
console.log("added", item.name, "as line", added.cid);
const { cart, items } = await buyer.post("/cart/get", undefined);
console.log(items.length, "line,", cart.price, system_currency.name);

const coupon = await buyer.post("/cart/acceptCoupon", { coupon: "no-such-code" }); // refused with 200: the body says so
console.log(coupon.success, coupon.message);
try {
  await buyer.post("/cart/changePrice/{cid}", { price: 1 }, { cid: added.cid });
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.log(error.status, error.message);
}
