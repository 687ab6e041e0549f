// POST /user, as the function auth responds to it, and the part of Lambda's Node runtime that calls a handler. (AWS's own
// runtime client compiles a native addon when it is installed.) The client is made once, outside the handler; the connection
// is not: opening it during init is not customary in this ecosystem.

import { BatchGetItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createHmac, timingSafeEqual } from 'node:crypto';
import http from 'node:http';

const TABLE = process.env.TABLE_NAME;
const KEYS = JSON.parse(process.env.TOKEN_KEYS);
const client = new DynamoDBClient({});

/** The claims of a token that is signed with the key it names, and valid now. */
function verified(token = '') {
  const [header, claims, signature] = token.split('.');
  const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url'));
  const expected = createHmac('sha256', KEYS[kid]).update(`${header}.${claims}`).digest();
  const sent = Buffer.from(signature, 'base64url');
  const { sub, iat, exp, iss } = JSON.parse(Buffer.from(claims, 'base64url'));
  const isValid = alg === 'HS256' && sent.length === expected.length && timingSafeEqual(sent, expected);
  return isValid && iss === 'storefront' && exp * 1000 > Date.now() ? { sub, iat } : undefined;
}

async function handler(event) {
  let claims;
  try {
    claims = verified(/^bearer (.+)$/i.exec(event.headers.authorization)?.[1]);
  } catch {
    // Not a token of ours.
  }
  if (!claims) {
    return reply(401, { message: 'Unauthorized' });
  }
  const Keys = [{ pk: { S: `USER#${claims.sub}` }, sk: { S: 'USER' } }];
  const found = await client.send(new BatchGetItemCommand({ RequestItems: { [TABLE]: { Keys, ConsistentRead: true } } }));
  const [user] = found.Responses[TABLE];
  if (!user || claims.iat <= Number(user.tokens_valid_after?.N ?? 0)) {
    return reply(401, { message: 'Unauthorized' });
  }
  const texts = ['username', 'avatar', 'system', 'identificator', 'uuid'].map((name) => [name, user[name]?.S ?? '']);
  const times = ['created_at', 'updated_at'].map((name) => [name, new Date(user[name].N * 1000).toISOString()]);
  return reply(200, { id: Number(user.id.N), ...Object.fromEntries([...texts, ...times]) });
}

function reply(statusCode, body) {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { statusCode, headers, body: JSON.stringify(body) };
}

const [hostname, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function call(method, path, body) {
  return new Promise((fulfil, reject) => {
    const options = { agent, hostname, port, method, path: `/2018-06-01/runtime/invocation/${path}` };
    const request = http.request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => fulfil({ headers: response.headers, text: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

async function run() {
  for (;;) {
    const { headers, text } = await call('GET', 'next');
    const id = headers['lambda-runtime-aws-request-id'];
    try {
      await call('POST', `${id}/response`, JSON.stringify(await handler(JSON.parse(text))));
    } catch (error) {
      await call('POST', `${id}/error`, JSON.stringify({ errorMessage: String(error) }));
    }
  }
}

run();
