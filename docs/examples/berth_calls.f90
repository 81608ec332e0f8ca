! Calls libberth from Fortran, through iso_c_binding: where to run (Bind) and where to allocate (Allocate). Built with
!
!     gfortran -o berth_calls berth_calls.f90 $(pkg-config --libs libberth)
!
! usage: berth_calls TASKS: the whole node's berths for so many tasks, and the best memory for 1 GiB.
!
! The types mirror client/lib/berth.h, field by field: the compiler cannot compare them with it. Fields that come after those that are read here are left
! out only in what the library allocates itself; a request has all of them, because its init function fills all of it.
module berth
    use, intrinsic :: iso_c_binding
    implicit none

    type, bind(c) :: berth_texts
        type(c_ptr) :: item
        integer(c_size_t) :: count
    end type

    type, bind(c) :: berth_bind_request
        integer(c_int) :: tasks, gpus_per_task, cores_per_task, threads_per_core, tasks_per_gpu
        type(c_ptr) :: ranks
        integer(c_int) :: world, pattern
        integer(c_int64_t) :: bytes, host_bytes
        type(c_ptr) :: flows
        integer(c_size_t) :: flow_count
        integer(c_int) :: mechanism, order, visible
        type(c_ptr) :: key, allowed
        integer(c_int) :: whole_node
    end type

    type, bind(c) :: berth_task
        integer(c_int) :: task
        type(berth_texts) :: gpus, memory, nics
        type(c_ptr) :: cpus, cpu_mask
        integer(c_int) :: memory_policy
        type(berth_texts) :: environment, unset ! pairs have the shape of texts: a pointer and a count
    end type

    type, bind(c) :: berth_binding
        type(c_ptr) :: tasks
        integer(c_size_t) :: task_count
    end type

    type, bind(c) :: berth_allocate_request
        integer(c_int64_t) :: bytes
        type(c_ptr) :: accesses
        integer(c_size_t) :: access_count
        integer(c_int) :: kinds
        type(c_ptr) :: allowed
        integer(c_int) :: whole_node
    end type

    type, bind(c) :: berth_memory_option
        type(c_ptr) :: memory
        integer(c_int) :: kind
        type(c_ptr) :: call
    end type

    type, bind(c) :: berth_allocation
        type(c_ptr) :: options
        integer(c_size_t) :: option_count
    end type

    interface
        function berth_new() bind(c)
            import :: c_ptr
            type(c_ptr) :: berth_new
        end function
        subroutine berth_free(handle) bind(c)
            import :: c_ptr
            type(c_ptr), value :: handle
        end subroutine
        function berth_connect(handle, path) bind(c) result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: handle, path ! c_null_ptr: $BERTH_SOCKET, else the installed daemon's
            integer(c_int) :: status
        end function
        subroutine berth_set_timeout(handle, timeout_ms) bind(c)
            import :: c_ptr, c_int
            type(c_ptr), value :: handle
            integer(c_int), value :: timeout_ms
        end subroutine
        function berth_error_detail(handle) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: handle
            type(c_ptr) :: text
        end function
        subroutine berth_bind_request_init(request) bind(c)
            import :: berth_bind_request
            type(berth_bind_request), intent(out) :: request
        end subroutine
        function berth_bind(handle, request, ret_binding) bind(c) result(status)
            import :: c_ptr, c_int, berth_bind_request
            type(c_ptr), value :: handle
            type(berth_bind_request), intent(in) :: request
            type(c_ptr), intent(inout) :: ret_binding
            integer(c_int) :: status
        end function
        subroutine berth_binding_free(binding) bind(c)
            import :: c_ptr
            type(c_ptr), value :: binding
        end subroutine
        subroutine berth_allocate_request_init(request) bind(c)
            import :: berth_allocate_request
            type(berth_allocate_request), intent(out) :: request
        end subroutine
        function berth_allocate(handle, request, ret_allocation) bind(c) result(status)
            import :: c_ptr, c_int, berth_allocate_request
            type(c_ptr), value :: handle
            type(berth_allocate_request), intent(in) :: request
            type(c_ptr), intent(inout) :: ret_allocation
            integer(c_int) :: status
        end function
        subroutine berth_allocation_free(allocation) bind(c)
            import :: c_ptr
            type(c_ptr), value :: allocation
        end subroutine
        function c_strlen(text) bind(c, name="strlen") result(length)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface

contains

    ! A text of the library's as a Fortran one; "" for none.
    function text_of(pointer) result(text)
        type(c_ptr), intent(in) :: pointer
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: characters(:)
        integer :: i, length
        length = 0
        if (c_associated(pointer)) length = int(c_strlen(pointer))
        allocate (character(len=length) :: text)
        if (length == 0) return
        call c_f_pointer(pointer, characters, [length])
        do i = 1, length
            text(i:i) = characters(i)
        end do
    end function

end module

program berth_calls
    use berth
    implicit none
    type(c_ptr) :: handle
    character(len=16) :: argument
    integer :: tasks, failed
    call get_command_argument(1, argument)
    read (argument, *, iostat=failed) tasks
    if (failed /= 0) then
        print '(a)', "usage: berth_calls TASKS"
        stop 64
    end if
    handle = berth_new()
    if (.not. c_associated(handle)) stop 71
    call berth_set_timeout(handle, 2000_c_int)
    if (berth_connect(handle, c_null_ptr) < 0) call give_up
    call print_berths
    call print_memory
    call berth_free(handle)

contains

    subroutine give_up
        print '(a)', "berth_calls: " // text_of(berth_error_detail(handle))
        call berth_free(handle)
        stop 1
    end subroutine

    subroutine print_berths
        type(berth_bind_request) :: request
        type(c_ptr) :: answer
        type(berth_binding), pointer :: binding
        type(berth_task), pointer :: task(:)
        type(c_ptr), pointer :: gpus(:)
        character(len=:), allocatable :: line
        integer :: i, j
        call berth_bind_request_init(request)
        request%tasks = tasks
        request%whole_node = 1
        if (berth_bind(handle, request, answer) < 0) call give_up
        call c_f_pointer(answer, binding)
        call c_f_pointer(binding%tasks, task, [binding%task_count])
        do i = 1, size(task)
            line = "cpus " // text_of(task(i)%cpus)
            if (task(i)%gpus%count > 0) call c_f_pointer(task(i)%gpus%item, gpus, [task(i)%gpus%count])
            do j = 1, int(task(i)%gpus%count)
                line = line // " " // text_of(gpus(j))
            end do
            print '(a, i0, a)', "task ", task(i)%task, ": " // line
        end do
        call berth_binding_free(answer)
    end subroutine

    subroutine print_memory
        type(berth_allocate_request) :: request
        type(c_ptr) :: answer
        type(berth_allocation), pointer :: allocation
        type(berth_memory_option), pointer :: option
        call berth_allocate_request_init(request)
        request%bytes = 1073741824_c_int64_t
        request%whole_node = 1
        if (berth_allocate(handle, request, answer) < 0) call give_up
        call c_f_pointer(answer, allocation)
        if (allocation%option_count > 0) then
            call c_f_pointer(allocation%options, option) ! the first one is the best
            print '(a)', "allocate on " // text_of(option%memory) // ": " // text_of(option%call)
        end if
        call berth_allocation_free(answer)
    end subroutine

end program
