local json, utf <const> = require("cjson.safe"), require "utf8"
local insert = require("table").insert
local _M, count, LIMIT = {}, 0, 10
local unset
version = "1"
require "side.effect"

--- Adds.
-- More.
function _M.add(a, b, ...)
  local sum = a and b or 0
  if sum > LIMIT then count = count + 1 elseif not b then return end
  for i = 1, 10 do insert(_M.list, i) end
  for k, v in pairs(a) do _M.seen[k] = v end
  while sum < 0 do sum = sum + 1 end
  repeat local inner <close> = open() until inner
  goto done
  ::done::
  return json.encode(sum), require("late.one").run(), require("chosen" .. b)
end

function Account:deposit(amount) self.balance = self.balance + amount; self:log { amount = amount } end
local function helper() local function nested() end return nested end
function global() end
Account.withdraw = function(self) end
local shorten = function(s) return function() return s end end
local maybe = count and function(x) end
_M.maybe = count and function(x) end
_M["dash-ed"] = function() end
a.b.c = function() end

local handlers = {
  get = function(request) end,
  ["put-it"] = function(request) end,
  [count] = function() end,
  late = count and function() end,
  nested = { deep = function() end },
  limit = 1, [count] = 2, 3,
}
local Child = Account:extend { name = "child", init = function(self) end }
return { run = function() end, handlers = handlers, text = [[function hidden() end]] } -- hidden
