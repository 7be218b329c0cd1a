using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Collections;

/// <summary>Lists against the obvious model, a .NET list, small and large, across the conversions both ways.</summary>
public class ListModelTests
{
    private const string Key = "list";

    // How long an element is: short ones alone; around the 1,024 bytes from which one is alone; some of several leaves;
    // integers.
    public static TheoryData<int, int, int> Shapes => new()
    {
        { 8, -2, 600 }, { 64, -2, 3000 }, { 3, 100, 400 }, { 1100, -1, 120 }, { 20_000, -2, 60 }, { 0, -5, 3000 },
            { 250, -2, 900 }, { 64, -4, 3000 },
        { 1, -1, 12_000 }, { 2, -1, 9000 },
    };

    [Theory]
    [MemberData(nameof(Shapes))]
    public void A_list_is_what_the_model_is_after_any_operations(int longest, int limit, int countMax)
    {
        for (int round = 0; round < TimeBudget.Count(3); round++)
        {
            using var test = new TestStore();
            test.Store.PackedLimits.ListSize = limit;
            Random random = Seed.NewRandom((longest * 31) + round);
            var run = new Run(test, random, longest);
            // Up and down, so that every conversion is met.
            for (int phase = 0; phase < 4; phase++)
            {
                run.Width = random.Next(2) == 0 ? 0 : random.Next(Math.Min(longest, 20)) + 1;
                int aim = phase % 2 == 0 ? random.Next(countMax / 2, countMax) : random.Next(4);
                for (int step = 0; step < 4000 && Math.Abs(run.Model.Count - aim) > 3; step++)
                    run.Step(grow: run.Model.Count < aim);
                for (int step = 0; step < 300; step++) run.Step(grow: random.Next(2) == 0);
                run.CheckAll();
            }

            test.Delete(Key);
            test.Settle();
            Assert.True(test.Store.Budget.BlockBytes == 0,
                $"{test.Store.Budget.BlockBytes} bytes are left; {Seed.Hint}");
        }
    }

    // Whichever allocation is refused: the answer says so, and the list is as it was.
    [Theory]
    [InlineData(8)]
    [InlineData(300)]
    [InlineData(3000)]
    public void Refused_memory_leaves_a_list_as_it_was(int longest)
    {
        int refused = 0;
        for (int nth = 1; nth <= 6; nth++)
        {
            using var test = new TestStore();
            Random random = Seed.NewRandom((longest * 7) + nth);
            var run = new Run(test, random, longest) { Width = nth % 2 == 0 ? 8 : 0 };
            int calls = 0, refusedBefore = 0;
            for (int step = 0; step < 1500; step++)
            {
                test.Store.Budget.Refuse = () => ++calls % nth == 0;
                run.Step(grow: step < 1000);
                test.Store.Budget.Refuse = null;
                if (run.Refused != refusedBefore || step % 100 == 0) run.CheckAll();
                refusedBefore = run.Refused;
            }

            refused += run.Refused;
        }

        Assert.True(refused > 0);
    }

    private sealed class Run(TestStore test, Random random, int longest)
    {
        public List<byte[]> Model { get; } = [];
        public int Refused { get; private set; }

        /// <summary>Nearly all elements are so long; 0: as it comes.</summary>
        public int Width { get; set; }

        public void Step(bool grow)
        {
            test.Begin();
            using (HeldKey held = test.Session.Hold(test.Session.Key(TestStore.Bytes(Key)), DataType.List,
                random.Next(60)))
            {
                if (held.Status == StoreStatus.OutOfMemory)
                {
                    Refused++;
                    return;
                }

                Assert.Equal(StoreStatus.Ok, held.Status);
                Assert.Equal(Model.Count > 0, held.Value.Exists);
                Change(held.Value, grow);
            }

            if (random.Next(150) == 0) CheckAll();
        }

        private void Change(HeldValue value, bool grow)
        {
            var list = new ListValue(value);
            int count = Model.Count;
            switch (random.Next(grow ? 6 : 10))
            {
                case 0 or 1 or 2 when grow:
                    Push(list);
                    break;
                case 3 when count > 0:
                    int at = random.Next(count + 1);
                    byte[] element = Element();
                    if (!list.TryReserveInsert(element.Length)) Refused++;
                    else
                    {
                        list.Insert(at, element);
                        Model.Insert(at, element);
                    }

                    break;
                case 4 when count > 0:
                    int index = random.Next(count);
                    byte[] other = Element();
                    if (!list.TryReserveReplace(index, other.Length)) Refused++;
                    else
                    {
                        list.Replace(index, other);
                        Model[index] = other;
                    }

                    break;
                case 5 when count > 0:
                    byte[] gone = random.Next(4) == 0 ? Element() : Model[random.Next(count)];
                    bool fromRight = random.Next(2) == 0;
                    int most = random.Next(3) == 0 ? int.MaxValue : random.Next(1, 4);
                    Assert.Equal(Remove(gone, most, fromRight), list.RemoveEqual(gone, most, fromRight));
                    break;
                case >= 6 when count > 0:
                    int start = random.Next(3) switch { 0 => 0, 1 => -1, _ => random.Next(count) };
                    int taken = random.Next(5) == 0 ? random.Next(1, count + 1) : random.Next(1, 4);
                    taken = Math.Min(taken, start < 0 ? count : count - start);
                    if (start < 0) start = count - taken;
                    value.BeginChange();
                    list.Remove(start, taken);
                    Model.RemoveRange(start, taken);
                    break;
            }

            Assert.Equal(Model.Count, list.Count);
            list.Settle();
        }

        private void Push(ListValue list)
        {
            bool left = random.Next(4) == 0 ? random.Next(2) == 0 : Model.Count / 50 % 2 == 0;
            var elements = new byte[random.Next(3) == 0 ? random.Next(1, 40) : 1][];
            for (int i = 0; i < elements.Length; i++) elements[i] = Element();
            if (!list.TryReservePush(left,
                elements.Aggregate(default(ListPush), (push, element) => push.With(element.Length))))
            {
                Refused++;
                return;
            }

            foreach (byte[] element in elements)
            {
                list.Push(left, element);
                Model.Insert(left ? 0 : Model.Count, element);
            }
        }

        private int Remove(byte[] gone, int most, bool fromRight)
        {
            int removed = 0;
            for (int i = fromRight ? Model.Count - 1 : 0; i >= 0 && i < Model.Count && removed < most;
                i += fromRight ? -1 : 1)
            {
                if (!Model[i].AsSpan().SequenceEqual(gone)) continue;
                Model.RemoveAt(i);
                removed++;
                if (!fromRight) i--;
            }

            return removed;
        }

        private byte[] Element()
        {
            if (longest == 0 || random.Next(Width == 0 ? 10 : 300) == 0)
                return Encoding.ASCII.GetBytes($"{random.NextInt64(-200, 200) << random.Next(50)}");
            int length = Width != 0 && random.Next(50) != 0 ? Width : random.Next(5) == 0
                ? random.Next(longest + 1) : random.Next(3) == 0 ? Math.Min(longest, random.Next(30)) : longest;
            byte[] element = new byte[length];
            element.AsSpan().Fill((byte)('a' + random.Next(3)));
            return element;
        }

        public void CheckAll()
        {
            test.Check();
            test.Begin();
            using HeldKey held = test.Session.Hold(test.Session.Key(TestStore.Bytes(Key)), DataType.List);
            Assert.Equal(Model.Count > 0 ? StoreStatus.Ok : StoreStatus.NotFound, held.Status);
            if (Model.Count == 0) return;
            var view = new ListValue(held.Value).View;
            Assert.Equal(Model.Count, view.Count);
            var forth = view.GetWalk();
            var back = view.GetWalk(Model.Count - 1, backwards: true);
            int some = random.Next(Model.Count);
            var from = view.GetWalk(some);
            for (int i = 0; i < Model.Count; i++)
            {
                Same(Model[i], forth.Next(out var next), next);
                Same(Model[^(i + 1)], back.Next(out var last), last);
                if (some + i < Model.Count) Same(Model[some + i], from.Next(out var later), later);
                if (random.Next(4) == 0)
                    Same(Model[i], view.TryGet(random.Next(2) == 0 ? i : i - Model.Count, out var at), at);
            }

            Assert.False(forth.Next(out _));
            Assert.False(back.Next(out _));
            Assert.False(from.Next(out _));
            Assert.False(view.TryGet(Model.Count, out _));
            Assert.False(view.TryGet(-1 - Model.Count, out _));
            if (!view.IsPacked) return;
            int listpack = Model.Sum(element => ListpackRule.SizeOf(element));
            Assert.True(listpack == new ListValue(held.Value).ListpackBytes, Seed.Hint);
        }

        private static void Same(byte[] expected, bool isThere, ReadOnlySpan<byte> actual) =>
            Assert.True(isThere && actual.SequenceEqual(expected), Seed.Hint);
    }
}
