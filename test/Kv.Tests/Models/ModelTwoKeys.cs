using static Kv.Tests.Models.ModelRegisters;

namespace Kv.Tests.Models;

/// <summary>What calls on two keys do besides searching them: hold both, change both, let go of both; or read both as
/// of one instant.</summary>
internal sealed class ModelTwoKeys(ModelCalls calls, ModelSearch search, Flaw flaw)
{
    private const byte SeenMiss = 128;

    /// <summary>Has locked a key's record, or its placeholder.</summary>
    /// <param name="old">The value before; 0: none.</param>
    public void Held(ModelState s, Span<byte> t, byte record, byte old)
    {
        t[HeldAt + t[KeyAt]] = record;
        t[OldAt + t[KeyAt]] = old;
        t[MineAt] = t[RecordAt] = 0;
        if (flaw == Flaw.HeldOneByOne)
        {
            // Locks, writes and lets go key by key.
            if (calls.OpOf(t) == Op.HoldSet) s.Low(record) = s.High(record) = ModelCalls.Written(t);
            s.Flags(record) = 0;
            s.Version(record)++;
            if (t[KeyAt] == 1) ModelCalls.Finish(s, t, t[OldAt], t[OldAt + 1]);
        }

        if ((Pc)t[PcAt] == Pc.Begin) return;
        t[KeyAt]++;
        if (t[KeyAt] == 1)
        {
            search.Search(t);
            return;
        }

        t[KeyAt] = 0;
        t[PcAt] = (byte)Pc.HeldWrite;
    }

    /// <summary>Changes one of the two keys held.</summary>
    public void HeldWrite(ModelState s, Span<byte> t)
    {
        int key = t[KeyAt];
        byte record = t[HeldAt + key];
        if (calls.OpOf(t) == Op.HoldSet)
        {
            s.Low(record) = s.High(record) = ModelCalls.Written(t);
            s.Flags(record) = ModelState.Lock;
        }
        else if (t[OldAt] != 0)
        {
            byte to = t[HeldAt + 1];
            if (key == 0) s.Low(to) = s.High(to) = t[OldAt];
            s.Flags(t[HeldAt + key]) = key == 0 ? (byte)(ModelState.Lock | ModelState.Placeholder) : ModelState.Lock;
        }

        if (++t[KeyAt] < 2) return;
        t[KeyAt] = 0;
        t[PcAt] = (byte)Pc.LetGo;
    }

    /// <summary>Unlocks one of the two, or begins to remove its placeholder.</summary>
    public void LetGo(ModelState s, Span<byte> t)
    {
        byte record = t[HeldAt + t[KeyAt]];
        if ((s.Flags(record) & ModelState.Placeholder) != 0)
        {
            t[RecordAt] = record;
            search.Seek(t, For.Remove);
            return;
        }

        s.Flags(record) = 0;
        s.Version(record)++;
        LetGoNext(s, t);
    }

    /// <summary>Goes on to the other one, or ends the call.</summary>
    public void LetGoNext(ModelState s, Span<byte> t)
    {
        if (++t[KeyAt] == 2) ModelCalls.Finish(s, t, t[OldAt], t[OldAt + 1]);
        else t[PcAt] = (byte)Pc.LetGo;
    }

    /// <summary>Has searched a key that is not there.</summary>
    public void SawMiss(Span<byte> t) => Saw(t, 0, (byte)(SeenMiss | t[HomeAt]), t[ControlAt]);

    /// <summary>Has read the value of a key, from a record with that word.</summary>
    public void Saw(Span<byte> t, byte value, byte seen, byte word)
    {
        int key = t[KeyAt];
        t[OldAt + key] = value;
        t[SeenAt + key] = seen;
        t[SeenWordAt + key] = word;
        t[RecordAt] = t[LowAt] = t[FlagsAt] = t[VersionAt] = t[HomeAt] = t[ControlAt] = 0;
        if (key == 0)
        {
            t[KeyAt] = 1;
            search.Search(t);
        }
        else
        {
            t[KeyAt] = 0;
            t[PcAt] = (byte)Pc.ManyCheck;
        }
    }

    /// <summary>Looks whether what was seen of one of the two still holds; if not, reads both again.</summary>
    public void Check(ModelState s, Span<byte> t)
    {
        int key = t[KeyAt];
        byte seen = t[SeenAt + key], word = t[SeenWordAt + key];
        bool holds = (seen & SeenMiss) != 0
            ? s.Control(seen & ~SeenMiss) == word
            : s.Flags(seen) == 0 && s.Version(seen) == word;
        if (!holds && flaw != Flaw.ManyNotChecked)
        {
            t[KeyAt] = 0;
            t[OldAt] = t[OldAt + 1] = t[SeenAt] = t[SeenAt + 1] = t[SeenWordAt] = t[SeenWordAt + 1] = 0;
            search.Search(t);
            return;
        }

        if (++t[KeyAt] == 2) ModelCalls.Finish(s, t, t[OldAt], t[OldAt + 1]);
    }
}
