{-# LANGUAGE CPP #-}
-- | Module doc
module A.B (f, T(..), module X) where
import Data.Map (Map, (!), fromList)
import qualified Data.Map.Strict as M hiding (foo)
import Foo.Bar
import Baz as B (T(..), C(a, D))
-- | doc of f
f :: Int -> Int
{-# INLINE f #-}
f 0 = 1
f n | n > 1 = g n
    | otherwise = let y = 1; h z = z in y + h 2
  where
    g x = x + 1
    k = 2
(+++) :: Int -> Int -> Int
a +++ b = a
x `op` y = x
(<->) x = x
(<>>) = op
k, k2 :: Int
k = 5
k2 = 6
(p, q) = (1, 2)
#if A
cpp x = 1
#else
cpp x = 2
#endif
{- | T doc
-}
data T a = A { fa :: Int, fb, fc :: a } | B Int | Int :+ Int | Int `I` Int | (:-) Int deriving (Show, Eq)
newtype N = N { unN :: Int }
type S = Map Int String
data G a where
  G1 :: Int -> G Int
  G2, G3 :: { g2f :: Int } -> G Bool
type family F a where
  F Int = Bool
data family DF a
class Eq a => Cls a where
  type AT a
  meth :: a -> Int
  meth _ = 1
  (<+>) :: a -> a -> a
  m1, (<.>) :: a
  m1 = x
  (<.>) = x
instance Cls (Maybe b) where
  meth :: Maybe b -> Int
  meth x = x
  (<+>) :: a -> b
  (<+>) = foo
  a <.> b = a + b
  m1 = 1
instance Cls [b] where
  m1 = 2
foreign import ccall "sin" c_sin :: Double -> Double
pattern P :: Int -> T
pattern P x = A x
pattern Q = B
main :: IO ()
main = do
  x <- getLine
  y <- [z | z <- xs]
  case x of
    "a" | True -> putStrLn x
        | x -> 1
    _ -> return () -- not v
  if a then b else if | c -> d | e -> f
  mapM_ (\i -> print i) xs
  M.insert 1 2 $ m { fa = Just 1 } `op` y
v | a = 1
  | b = 2
data a :* b = a :* b
newtype (:.) a b = N2 a
type a ++ b = Int
type family (//) a b
data family a :/ b
class a `Sub` b where
local = k where
  inner :: forall a. Show a => a -> Int
  inner = f
  number :: Int
  number = 2
