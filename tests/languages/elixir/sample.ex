defmodule Shop.Cart do
  @moduledoc """
  A cart.
  """
  use GenServer, restart: :temporary
  import Ecto.Query, only: [from: 2, where: 3]
  import Enum
  alias Shop.{Item, Price.Tax}
  alias Shop.Item, as: Thing
  alias __MODULE__.Line
  require Logger, as: Log

  @behaviour Shop.Store
  @timeout 5_000
  @only_set "a remark for a library"
  @enforce_keys [:items]
  defstruct items: [], total: 0

  @typedoc "What it holds."
  @type t :: %__MODULE__{items: [Item.t()]}
  @typep pair(a) :: {a, a}
  @opaque id :: integer when a: var
  @callback load(id :: String.t(), term) :: {:ok, t()}
  @macrocallback build(a) :: a when a: term

  @doc ~S"""
  Adds an item; see defmacro.
  """
  @doc since: "1.0"
  @spec add(t(), Item.t(), integer) :: t()
  def add(cart, item, count \\ 1)
  def add(%__MODULE__{items: items} = cart, %Thing{} = item, count) when count > 0 and is_integer(count) do
    {:ok, tax} = Tax.of(item)
    [first | rest] = items
    total = cart.total + tax
    if total > @timeout, do: Log.info("much #{total}"), else: :ok
    case item do
      %Item{price: nil} -> cart
      other -> other
    end
    with {:ok, line} <- Line.new(item), do: line
    for one <- items, do: one |> price() |> Enum.map(fn {a, b} -> a || b end)
    try do
      save!(cart)
    rescue
      error in RuntimeError -> error
    catch
      :exit, reason -> reason
    else
      {:ok, value} -> value
    end
    %{cart | items: [item | rest], total: total && first}
  end

  defp price(item), do: item.price
  def empty?, do: true
  def left <> right, do: Shop.Join.both(left, right)
  def -cart, do: cart
  def (a ~> b), do: {a, b}
  defmacro __using__(_options) do
    quote do
      @hidden_inside 1
      def inner(x), do: unquote(x)
    end
  end
  defmacrop local(x), do: x
  defguard is_big(n) when n > 100
  defguardp is_small(n) when n < 1
  defdelegate size(cart), to: Map
  def unquote(:computed)(x), do: x

  defimpl Inspect, for: Shop.Cart do
    def inspect(cart, _opts), do: "#Cart#{map_size(cart)}"
  end
  defmodule Line, do: (def new(item), do: {:ok, item})
end

# Sizes.
defprotocol Size do
  @doc "Its size."
  def size(data)
end

defmodule :erlang_style do
end

require Record
Record.defrecord(:user, name: "hidden")
import Record
defrecord :group, [:name]
