// POST /payments/checkStatus, as the payments function answers it. Clients and keys are made once, outside the handler;
// the connection is not: opening it during init is not customary in this ecosystem.

import { countedAs, orderId, tokenOf } from './request.mjs';
import { LIMIT, digits, hit, isPassing, orderAndUser } from './store.mjs';
import { verify } from './token.mjs';

const MESSAGES = {
  PENDING: 'The payment is pending.',
  PAID: 'The payment was received.',
  FAILED: 'The payment failed.',
  CANCELLED: 'The payment was cancelled.',
  REFUNDED: 'The payment was refunded.',
};

export async function handler(event) {
  if (event.requestContext.http.method !== 'POST' || event.rawPath !== '/payments/checkStatus') {
    return reply(404, { message: 'Not Found' });
  }
  const [counted, found] = await Promise.allSettled([
    hit(countedAs(event.requestContext.http.sourceIp), Date.now()),
    lookUp(event),
  ]);
  if (counted.status === 'rejected') {
    return failed(event, counted.reason);
  }
  const { allowed, remaining, resetSeconds } = counted.value;
  let answer;
  if (!allowed) {
    answer = label(429, 'error', `Too many attempts. Please try again in ${resetSeconds} seconds.`, { 'retry-after': `${resetSeconds}` });
  } else {
    answer = found.status === 'fulfilled' ? found.value : failed(event, found.reason);
  }
  answer.headers['ratelimit-limit'] = `${LIMIT}`;
  answer.headers['ratelimit-remaining'] = `${remaining}`;
  answer.headers['ratelimit-reset'] = `${resetSeconds}`;
  return answer;
}

/** The answer to a request that passes the limit. */
async function lookUp(event) {
  const wanted = orderId(event);
  if (wanted.status === 413) {
    return reply(413, { message: wanted.fault });
  }
  if (wanted.fault) {
    return label(400, 'error', wanted.fault);
  }
  // Verified before anything is read: the claims say whose item to read.
  const claims = await verify(tokenOf(event.headers));
  const [{ order, user }, minorDigits] = await Promise.all([orderAndUser(wanted.id, claims?.sub), digits()]);
  if (!order) {
    return label(200, 'not_found', 'This payment does not exist.');
  }
  if (order.owner === undefined) {
    return shown(order, minorDigits);
  }
  if (!user || claims.iat <= user.tokensValidAfter) {
    return label(401, 'error', 'Unauthorized', { 'www-authenticate': 'Bearer' });
  }
  return user.id === order.owner
    ? shown(order, minorDigits)
    : label(200, 'forbidden', 'This payment belongs to another account.');
}

function shown({ owner, ...order }, minorDigits) {
  return reply(200, {
    status: 'success',
    message: MESSAGES[order.status],
    order_data: {
      ...order,
      price: order.price / 10 ** minorDigits,
      created_at: new Date(order.created_at * 1000).toISOString().slice(0, 19).replace('T', ' '),
    },
  });
}

function failed(event, error) {
  console.error(error);
  if (isPassing(error)) {
    const message = 'The store is busy at the moment. Please try again shortly.';
    return reply(503, { message }, { 'retry-after': '1' });
  }
  const id = event.requestContext.requestId;
  return reply(500, { message: `Internal error. If it happens again, name the request ${id}.` });
}

function label(statusCode, status, message, headers) {
  return reply(statusCode, { status, message }, headers);
}

function reply(statusCode, body, headers) {
  return {
    statusCode,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  };
}
