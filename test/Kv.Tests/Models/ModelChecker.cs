namespace Kv.Tests.Models;

/// <summary>Walks every interleaving of a program and checks each end: that the results can be explained one by
/// one.</summary>
internal static class ModelChecker
{
    /// <returns>States visited.</returns>
    /// <exception cref="ModelException">What is wrong, with the steps that led there.</exception>
    public static int Run(ModelProgram program, Flaw flaw = Flaw.None)
    {
        var model = new IndexModel(program, flaw);
        ModelState start = model.Start(), scratch = model.Start();
        var seen = new HashSet<UInt128> { start.Digest() };
        var stack = new Stack<byte[]>();
        stack.Push((byte[])start.Bytes.Clone());
        while (stack.TryPop(out byte[]? bytes))
        {
            bool moved = false, done = true;
            for (int thread = 0; thread < program.Threads.Length; thread++)
            {
                bytes.CopyTo(scratch.Bytes, 0);
                if (model.IsDone(scratch, thread)) continue;
                done = false;
                if (!model.Step(scratch, thread)) continue;
                moved = true;
                if (seen.Add(scratch.Digest())) stack.Push((byte[])scratch.Bytes.Clone());
            }

            if (done)
            {
                bytes.CopyTo(scratch.Bytes, 0);
                CheckEnd(model, scratch);
            }
            else if (!moved)
            {
                throw new ModelException("deadlock");
            }
        }

        return seen.Count;
    }

    private static void CheckEnd(IndexModel model, ModelState end)
    {
        Dictionary<char, byte> published = model.Published(end);
        var values = new Dictionary<char, byte>();
        foreach (char key in "AaBb")
            if (model.FirstValue(key) is var value and not 0) values[key] = value;
        if (!Explains(model, end, published, values, 0))
        {
            var results = model.Calls.Select(
                (call, i) => $"{call} = {end.Call(i)[2]},{end.Call(i)[3]} after {end.Call(i)[1]:b}");
            throw new ModelException("not linearizable: " + string.Join("; ", results));
        }
    }

    /// <summary>Looks for an order of the calls, none before one that had ended when it began, that gives these
    /// results.</summary>
    private static bool Explains(IndexModel model, ModelState end, Dictionary<char, byte> published,
        Dictionary<char, byte> values, int done)
    {
        if (done == (1 << model.Calls.Count) - 1)
            return published.Count == values.Count
                && published.All(pair => values.GetValueOrDefault(pair.Key) == pair.Value);

        for (int i = 0; i < model.Calls.Count; i++)
        {
            if ((done & 1 << i) != 0 || (end.Call(i)[1] & ~done) != 0) continue;
            var next = new Dictionary<char, byte>(values);
            if (Agrees(model.Calls[i], (byte)(i + 1), end.Call(i)[2], end.Call(i)[3], next)
                && Explains(model, end, published, next, done | 1 << i)) return true;
        }

        return false;
    }

    /// <summary>Does a call to a dictionary, and says whether it would have answered so.</summary>
    private static bool Agrees(Call call, byte written, byte first, byte second, Dictionary<char, byte> values)
    {
        byte old = values.GetValueOrDefault(call.Key), other = values.GetValueOrDefault(call.Other);
        switch (call.Op)
        {
            case Op.Get or Op.HintedGet:
                return first == old;
            case Op.Set or Op.SetInPlace or Op.HintedSet:
                values[call.Key] = written;
                return first == old;
            case Op.Delete:
                values.Remove(call.Key);
                return first == old;
            case Op.HoldSet:
                values[call.Key] = values[call.Other] = written;
                return first == old && second == other;
            case Op.HoldRename:
                if (old != 0)
                {
                    values.Remove(call.Key);
                    values[call.Other] = old;
                }

                return first == old && second == other;
            case Op.GetMany:
                return first == old && second == other;
            default:
                return true;
        }
    }
}
