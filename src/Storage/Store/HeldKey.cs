using System.Diagnostics;

namespace Kv.Storage;

/// <summary>One key that the caller alone may read and change until it disposes this.</summary>
internal readonly ref struct HeldKey : IHeldKeys
{
    /// <summary>In the place of the bytes that a new key's value is expected to have: a key that is absent is not
    /// held.</summary>
    internal const int OnlyIfThere = -1;

    private readonly StoreSession _session;
    private readonly ref HeldRecord _held;

    internal HeldKey(StoreSession session, StoreStatus status, ref HeldRecord held)
    {
        _session = session;
        _held = ref held;
        Status = status;
    }

    /// <summary>Ok: it is held. Else nothing is: NotFound, WrongType, OutOfMemory, TooLarge.</summary>
    public StoreStatus Status { get; }

    /// <summary>What the key holds.</summary>
    public HeldValue Value
    {
        get
        {
            Debug.Assert(Status == StoreStatus.Ok, "the key is held");
            return new HeldValue(_session.Changes, ref _held);
        }
    }

    /// <inheritdoc/>
    public IHeldSteps? TryBeginUse(IHeldUse use) => _session.Single.TryBeginUse(ref _held, use);

    /// <summary>Says how much the key was used elsewhere, for what is evicted first.</summary>
    /// <param name="frequency">Of 255; null: nobody knows.</param>
    /// <param name="idleSeconds">Since it was last used; null: nobody knows.</param>
    public void SetUse(int? frequency, long? idleSeconds)
    {
        Debug.Assert(Status == StoreStatus.Ok, "the key is held");
        EvictionRule rule = _session.Eviction;
        int use = RecordWord.Use(_held.Word);
        if (frequency is { } often) use = rule.UseOfFrequency(use, often);
        if (idleSeconds is { } idle) use = rule.UseOfIdle(use, idle, _session.IntervalAgo(idle));
        _held.Word = RecordWord.WithUse(_held.Word, use);
    }

    /// <summary>Lets go: others see what was done. A key without a value is gone.</summary>
    public void Dispose()
    {
        if (Status == StoreStatus.Ok) _session.Single.LetGo(ref _held);
    }
}
